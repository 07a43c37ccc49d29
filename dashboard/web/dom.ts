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

export const setClass = (element: Element, name: string): void =>
  setAttribute(element, 'class', name);

/** Null removes it. */
export function setAttribute(element: Element, name: string, value: string | null): void {
  if (element.getAttribute(name) === value) return;
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
}

/** After what had it is gone: not back to the start of the document. */
export const focusPage = (): void =>
  document.querySelector<HTMLElement>('#page')?.focus({ preventScroll: true });

/**
 * Makes the children equal to these and changes only what differs, so that focus, selection and a
 * screen reader's place stay. Children with the same `data-key` are the same ones, others those of
 * the same order. A kept element keeps its listeners, so they must not depend on the new one.
 */
export function setChildren(parent: Element, ...children: readonly (Node | string)[]): void {
  const active = document.activeElement;
  const old = [...parent.childNodes];
  const keyed = new Map(old.map((node) => [keyOf(node), node]));
  const others = old.filter((node) => keyOf(node) === undefined);
  const kept = children.map((part) => {
    const child = typeof part === 'string' ? new Text(part) : (part as ChildNode);
    const key = keyOf(child);
    const match = key === undefined ? others.shift() : keyed.get(key);
    keyed.delete(key);
    if (match?.nodeName !== child.nodeName) return child;
    become(match, child);
    return match;
  });
  const present = new Set<Node>(kept);
  for (const node of old) if (!present.has(node)) node.remove();
  setOrder(parent, kept);
  if (active?.isConnected === false) focusPage();
}

/** Orders children, of which some may be new. The one with the focus stays, or would lose it. */
export function setOrder(parent: Element, children: readonly ChildNode[]): void {
  const focused = children.findIndex((child) => child.contains(document.activeElement));
  const fixed = focused < 0 ? children.length - 1 : focused;
  if (fixed < 0) return;
  if (children[fixed]!.parentNode !== parent) parent.append(children[fixed]!);
  for (let i = fixed - 1; i >= 0; i--)
    if (children[i]!.nextSibling !== children[i + 1]) children[i + 1]!.before(children[i]!);
  for (let i = fixed + 1; i < children.length; i++)
    if (children[i - 1]!.nextSibling !== children[i]) children[i - 1]!.after(children[i]!);
}

const keyOf = (node: Node): string | undefined =>
  node instanceof HTMLElement ? node.dataset.key : undefined;

/** `model` has the same name. */
function become(node: ChildNode, model: ChildNode): void {
  if (node.isEqualNode(model)) return;
  if (!(node instanceof Element && model instanceof Element)) {
    setText(node, model.textContent ?? '');
    return;
  }
  for (const { name } of [...node.attributes])
    if (!model.hasAttribute(name)) node.removeAttribute(name);
  for (const { name, value } of model.attributes)
    if (name !== 'style') setAttribute(node, name, value);
  // The content policy forbids the attribute.
  if (node instanceof HTMLElement && model instanceof HTMLElement)
    if (node.style.cssText !== model.style.cssText) node.style.cssText = model.style.cssText;
  setChildren(node, ...model.childNodes);
}

/** Sets styles by script, since the content policy forbids style attributes. */
export function setStyle(element: HTMLElement | SVGElement, property: string, value: string): void {
  if (element.style.getPropertyValue(property) !== value)
    element.style.setProperty(property, value);
}
