import { execFileSync } from 'node:child_process';
import test from 'ava';
import { BrokerTlsError, NoRespondersError } from '../../broker/errors.js';
import { ServiceError } from '../../broker/index.js';
import { ERRORS, type ErrorCode, type ErrorRow, placeholdersOf } from '../../config/error-table.js';
import { reportError } from '../../config/exit.js';
import { errorClass, errorsReference, UsageError } from '../../config/index.js';
import { PRODUCT_FOLDERS } from '../support/product-folders.js';

const rows = Object.entries(ERRORS) as [ErrorCode, ErrorRow][];

test('each code of the table has one class that raises it, and each raised code is in it', (t) => {
  const raised = execFileSync(
    'grep',
    ['-rhoE', "errorClass\\('GLN_[A-Z_]+'\\)", '--include=*.ts', ...PRODUCT_FOLDERS],
    { encoding: 'utf8' },
  );
  const codes = raised
    .trim()
    .split('\n')
    .map((line) => line.slice("errorClass('".length, -2));
  t.deepEqual(codes.sort(), rows.map(([code]) => code).sort());
});

test('no hint sends an operator to a source file', (t) => {
  for (const [code, { hint }] of rows) t.notRegex(hint, /\.(ts|mjs)\b/, code);
});

test('every message and hint is one short text with complete quotes', (t) => {
  for (const [code, { message, hint }] of rows)
    for (const text of [message, hint]) {
      t.true(text.length > 3 && text.length < 220, code);
      t.is(text.split('`').length % 2, 1, `${code}: ${text}`);
    }
});

test('an error fills in the placeholders of its message and hint in order', (t) => {
  t.deepEqual(placeholdersOf('GLN_FUNCTION_AMBIGUOUS'), ['name', 'count', 'names']);
  class Ambiguous extends errorClass('GLN_FUNCTION_AMBIGUOUS') {}
  const cause = new Error('no');
  const error = new Ambiguous('dh', 2, '/a/dh, /b/dh', cause);
  t.is(error.message, "'dh' is the name of 2 functions");
  t.is(error.hint, 'use one of: /a/dh, /b/dh');
  t.is(error.code, 'GLN_FUNCTION_AMBIGUOUS');
  t.is(error.name, 'Ambiguous');
  t.is(error.cause, cause);
});

test('a value with braces is shown as it is', (t) => {
  t.is(new NoRespondersError('a.{subject}.$&').message, 'no service answers on a.{subject}.$&');
});

test('an error without a cause has no property for one', (t) => {
  t.false('cause' in new BrokerTlsError('no'));
});

test('the exit code of a command is that of the error in the table', (t) => {
  const text: string[] = [];
  const write = (line: string): void => void text.push(line);
  t.is(reportError(new UsageError('no such flag', { hint: 'see --help' }), write), 2);
  t.is(reportError(new ServiceError(404, 'no such function'), write), 1);
  t.deepEqual(text, [
    'gleaner: no such flag [GLN_USAGE]\n  see --help\n',
    'gleaner: no such function [GLN_SERVICE]\n  see the message of the service\n',
  ]);
});

test('the reference has each code of the table once', (t) => {
  const page = errorsReference();
  const codes = [...page.matchAll(/^- `(GLN_[A-Z_]+)`/gm)].map(([, code]) => code as ErrorCode);
  t.deepEqual(codes, rows.map(([code]) => code).sort());
  t.true(
    page.includes(
      '- `GLN_BROKER_NO_RESPONDERS`: no service answers on …\\\n' +
        '  start the part that serves it; `gleaner status` shows what runs\n',
    ),
  );
});
