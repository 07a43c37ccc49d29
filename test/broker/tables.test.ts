import test from 'ava';
import { permissionsOf, ROLES, subjects, wildcards } from '../../broker/index.js';
import {
  agentsService,
  aggregatorService,
  hookService,
  type ServiceContract,
} from '../../broker/services/index.js';
import { bucketTable, topics } from '../../broker/tables.js';
import { subjectMatches } from '../support/memory-broker/subject-matches.js';

const matches = (pattern: string, subject: string): boolean =>
  subjectMatches(pattern.split('.'), subject.split('.'));
const mayPublish = (role: (typeof ROLES)[number], subject: string, host?: string): boolean =>
  permissionsOf(role, host).publish.some((pattern) => matches(pattern, subject));

const built = {
  observations: subjects.observation('/guest/f'),
  experiences: subjects.experiences('host-a'),
  hostReports: subjects.hostReport('host-a'),
  agentsPartials: subjects.agentsPartial('host-a'),
  agentReports: subjects.agentReport('/guest/f'),
  targets: subjects.target('/guest/f'),
  announcements: subjects.announcement('host-a'),
  meanField: subjects.meanField,
  events: subjects.event('oom', '/guest/f'),
  trajectories: subjects.trajectory('/guest/f'),
};

test('each topic has a builder whose subjects its own wildcard matches, and no other', (t) => {
  for (const [name, subject] of Object.entries(built)) {
    const { everything: _, ...own } = wildcards;
    const matching = Object.entries(own).filter(([, pattern]) => matches(pattern, subject));
    t.deepEqual(
      matching.map(([topic]) => topic),
      [name],
    );
  }
  t.deepEqual(Object.keys(built).sort(), Object.keys(topics).sort());
});

test('a host publishes under its own name only if the subject names the host', (t) => {
  t.true(mayPublish('hook', subjects.hostReport('host-a'), 'host-a'));
  t.false(mayPublish('hook', subjects.hostReport('host-b'), 'host-a'));
  t.true(mayPublish('agents', subjects.agentsPartial('host-a'), 'host-a'));
  t.false(mayPublish('agents', subjects.agentsPartial('host-b'), 'host-a'));
  for (const role of ['hook', 'agents', 'aggregator'] as const) {
    t.true(mayPublish(role, subjects.announcement('host-a'), 'host-a'));
    t.false(mayPublish(role, subjects.announcement('host-b'), 'host-a'));
  }
});

test('only agents publish targets, and each kind of event has its own publishers', (t) => {
  const publishers = (subject: string) => ROLES.filter((role) => mayPublish(role, subject));
  t.deepEqual(publishers(built.targets), ['agents']);
  t.deepEqual(publishers(subjects.event('oom', null)), ['hook']);
  t.deepEqual(publishers(subjects.event('concurrency', null)), ['agents']);
  t.deepEqual(publishers(subjects.event('lifecycle', null)), ['hook', 'agents']);
  t.deepEqual(publishers(subjects.event('action', null)), ['operator']);
});

test('a viewer calls every endpoint that changes nothing, and no other', (t) => {
  const services = { hook: hookService, agents: agentsService, aggregator: aggregatorService };
  for (const [service, contract] of Object.entries(services))
    for (const [endpoint, { changes }] of Object.entries(contract as ServiceContract)) {
      const subject = `gleaner.v1.svc.gleaner-${service}.${endpoint}`;
      t.is(mayPublish('viewer', subject), changes !== true, subject);
      t.true(mayPublish('operator', subject), subject);
    }
  t.deepEqual(
    Object.entries(hookService as ServiceContract).flatMap(([name, { changes }]) =>
      changes ? [name] : [],
    ),
    ['pause', 'resume', 'mode', 'restore'],
  );
});

test('only roles that write a bucket can put its keys', (t) => {
  for (const [name, { access }] of Object.entries(bucketTable))
    for (const role of ROLES) {
      const granted = (access as Partial<Record<typeof role, string>>)[role];
      const key = role === 'aggregator' ? 'gleaner-aggregator' : 'global';
      const writes = granted === 'write' || granted === 'sweep';
      t.is(mayPublish(role, `$KV.gleaner_${name}.${key}`), writes, `${role} ${name}`);
    }
});
