type Child = Node | string | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;
/** Attributes, which may be left out, then children. Text is never read as markup. */
type Content = readonly (Child | Attributes)[];

/** Makes an element from its tag and classes: `h('p.note.wide', { title }, 'text')`. */
export function h<K extends keyof HTMLElementTagNameMap>(
  selector: K | `${K}.${string}`,
  ...content: Content
): HTMLElementTagNameMap[K] {
  const [tag, ...classes] = selector.split('.');
  const element = document.createElement(tag as K);
  if (classes.length > 0) element.className = classes.join(' ');
  return filled(element, content);
}

/** Makes an SVG element. */
export const svg = <K extends keyof SVGElementTagNameMap>(
  tag: K,
  ...content: Content
): SVGElementTagNameMap[K] =>
  filled(document.createElementNS('http://www.w3.org/2000/svg', tag), content);

function filled<E extends Element>(element: E, content: Content): E {
  for (const part of content) {
    if (part instanceof Node || typeof part === 'string') element.append(part);
    else
      for (const [name, value] of Object.entries(part || {}))
        if (value !== null && value !== undefined && value !== false)
          element.setAttribute(name, value === true ? '' : String(value));
  }
  return element;
}

export function button(
  text: string,
  attributes: Attributes,
  clicked: () => void,
): HTMLButtonElement {
  const element = h('button', { type: 'button', ...attributes }, text);
  element.addEventListener('click', clicked);
  return element;
}

/** Writes only a changed text, so that an unchanged page needs no layout. */
export function setText(element: Node, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element: Element, name: string): void {
  if (element.getAttribute('class') !== name) element.setAttribute('class', name);
}

/** Sets styles by script, since the content policy forbids style attributes. */
export function setStyle(element: HTMLElement | SVGElement, property: string, value: string): void {
  if (element.style.getPropertyValue(property) !== value)
    element.style.setProperty(property, value);
}
