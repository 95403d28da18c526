// The dashboard. It reads the native API with the rights of its user, and keeps nothing.
'use strict';

const API = new URL('../api/v1', location.href.split('#')[0]).pathname;
const OLD_MS = 3000; // then a number is dimmed
const HIDDEN_MS = 60000; // then a hidden page asks no more
const SPARKS = 60; // values of a sparkline
const RIGHTS = ['open', 'read', 'operate', 'admin'];
const GLYPHS = { ok: '●', notice: '○', warning: '▲', critical: '■', unknown: '?' };

const state = {
  view: 'now', words: [], token: sessionStorage.getItem('sherd-token') || '',
  about: null, status: null, statusAt: 0, fault: null, asksToken: false, isPaused: false, hiddenSince: 0,
  data: null, dataAt: 0, dataFault: null, loadAt: 0, isLoading: false, isAsking: false,
  last: new Map(), // by node: what it said last
  rates: new Map(), // by node: { at, delivered, values }
  kind: '', // of the timeline's events
};

// ---- elements ----

const OF_SVG = new Set(['svg', 'polyline']);
const EVENTS = ['onclick', 'onsubmit', 'onchange', 'oninput'];

/** Makes an element. Texts are text nodes alone, so no id can become markup. */
function h(tag, props, ...children) {
  const element = OF_SVG.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (EVENTS.includes(name) || name === 'draw') element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** Makes `old` equal to `next`, so that focus, selection and scrolling stay. */
function morph(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName || old.dataset?.key !== next.dataset?.key) {
    old.replaceWith(next);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes])
    if (!next.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  for (const { name, value } of [...next.attributes])
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of EVENTS) old[name] = next[name];
  old.draw = next.draw;
  morphChildren(old, [...next.childNodes]);
  if (old.draw) old.draw(old);
}

function morphChildren(parent, next) {
  const now = [...parent.childNodes];
  for (let i = 0; i < Math.max(now.length, next.length); i++) {
    if (i >= next.length) now[i].remove();
    else if (i >= now.length) parent.append(next[i]);
    else morph(now[i], next[i]);
  }
  for (const canvas of parent.querySelectorAll('canvas')) if (canvas.draw) canvas.draw(canvas);
}

function put(id, ...children) {
  const whole = h('div', null, ...children);
  morphChildren(document.getElementById(id), [...whole.childNodes]);
}

// ---- values ----

const known = (value) => value !== null && value !== undefined;
const number = (value) => (known(value) ? Number(value).toLocaleString('en', { maximumFractionDigits: 1 }) : '–');
const idOf = (row) => (known(row.id) ? row.id : `0x${row.idHex}`);
const path = (...words) => words.map((word) => `/${encodeURIComponent(word)}`).join('');
const link = (text, ...words) => h('a', { href: `#${path(...words)}`, class: 'mono' }, text);
const sum = (rows, field) => rows.reduce((total, row) => total + (row[field] || 0), 0);
const byName = (left, right) => left.localeCompare(right, 'en', { numeric: true });

function span(ms) {
  if (!known(ms)) return '–';
  const steps = [[86400000, 'd'], [3600000, 'h'], [60000, 'min'], [1000, 's']];
  for (const [size, unit] of steps) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return `${Math.round(ms)} ms`;
}

function clock(text) {
  if (!text) return '–';
  const date = new Date(text);
  const day = Date.now() - date > 43200000 ? ` ${date.toLocaleDateString('en-GB', { day: '2-digit', month: 'short' })}` : '';
  return date.toLocaleTimeString('en-GB') + day;
}

const word = (kind, text) => h('span', { class: `word ${kind}` }, `${GLYPHS[kind] || '●'} ${text}`);
const flag = (value, yes = 'yes', no = 'no') => (known(value) ? (value ? yes : no) : '–');

// ---- requests ----

async function ask(method, route, body, wantsLines) {
  const headers = { Accept: wantsLines ? 'application/x-ndjson' : 'application/json' };
  if (state.token) headers.Authorization = `Bearer ${state.token}`;
  if (method !== 'GET') headers['Content-Type'] = 'application/json';
  const answer = await fetch(API + route, { method, headers, cache: 'no-store', signal: AbortSignal.timeout(20000),
    body: method === 'GET' ? undefined : JSON.stringify(body || {}) });
  const text = await answer.text();
  if (answer.ok && wantsLines) return text.trim().split('\n').map((line) => JSON.parse(line));
  const value = text ? JSON.parse(text) : {};
  if (answer.ok) return value;
  state.asksToken = state.asksToken || answer.status === 401;
  const error = new Error(value.error ? value.error.message : `status ${answer.status}`);
  error.hint = value.error && value.error.hint;
  error.status = answer.status;
  throw error;
}

const get = (...words) => ask('GET', path(...words));
/** The rows of a list, with what members were missing: { rows, end }. */
async function rows(route) {
  const lines = await ask('GET', route, undefined, true);
  return { rows: lines.filter((line) => !line.end), end: lines[lines.length - 1].end };
}
/** An answer, or null if there is no such thing. */
const orNull = (promise) => promise.catch((error) => {
  if (error.status === 404) return null;
  throw error;
});
const mayDo = (right) => state.about && !state.about.readOnly && RIGHTS.indexOf(state.about.right) >= RIGHTS.indexOf(right);

// ---- parts of views ----

function table(caption, columns, list, empty = 'None.') {
  return h('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': caption }, h('table', null, h('caption', null, caption),
    h('thead', null, h('tr', null, columns.map(([name, , kind]) => h('th', { scope: 'col', class: kind }, name)))),
    h('tbody', null, list.length ? list.map((row) => h('tr', { class: row.isOld ? 'old' : null },
      columns.map(([, of, kind]) => h('td', { class: kind }, of(row)))))
      : h('tr', null, h('td', { class: 'text', colspan: columns.length }, empty)))));
}

const facts = (...pairs) => h('dl', { class: 'facts' }, pairs.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))));

/** Names the members whose part is missing: a number without them is not the whole. */
function missing(answer) {
  const silent = (answer && answer.nodes || []).filter((node) => node.state !== 'ok' && node.state !== 'jvm');
  return silent.length ? h('p', { class: 'warning' }, `${GLYPHS.warning} Incomplete. No answer from `,
    silent.map((node, i) => [i ? ', ' : '', h('span', { class: 'mono' }, node.node), ` (${node.state})`]), '.') : null;
}

function findings(explanation) {
  if (!explanation) return null;
  return [explanation.text && !explanation.findings.length ? h('p', null, explanation.text) : null,
    (explanation.findings || []).map((finding) => problem(finding)),
    explanation.notKnown && explanation.notKnown.length ? h('p', { class: 'warning' }, `${GLYPHS.warning} Not known: no answer from ${explanation.notKnown.join(', ')}.`) : null];
}

function problem(finding) {
  const where = finding.of === 'node' && finding.node ? link('open', 'nodes', finding.node)
    : finding.type ? link('open', 'shards', finding.type) : null;
  return h('div', { class: `problem ${finding.severity}`, 'data-key': finding.rule + finding.text },
    h('p', null, word(finding.severity, finding.severity), ' ', h('b', null, finding.text), h('span', { class: 'old' }, ` (${finding.rule})`), ' ', where),
    h('p', null, finding.cause, '. To do: ', finding.remedy, '.'));
}

function spark(values) {
  if (values.length < 2) return h('span', null);
  const most = Math.max(...values, 1);
  const points = values.map((value, i) => `${(SPARKS - values.length + i) * 2},${(18 - 16 * value / most).toFixed(1)}`).join(' ');
  return h('svg', { class: 'spark', width: 120, height: 20, 'aria-hidden': 'true' }, h('polyline', { points }));
}

/** Draws shards as cells; a level from 0 to 6 is a colour, a stroke a shard that moves, a hollow cell one that has not started. */
function cells(list, choose) {
  const size = 14;
  function draw(canvas) {
    const style = getComputedStyle(document.documentElement);
    const width = canvas.parentElement ? canvas.parentElement.clientWidth : 600;
    const columns = Math.max(1, Math.floor(width / size));
    const scale = window.devicePixelRatio || 1;
    const height = Math.ceil(list.length / columns) * size;
    if (canvas.width !== columns * size * scale || canvas.height !== height * scale) {
      canvas.width = columns * size * scale;
      canvas.height = height * scale;
      canvas.style.width = `${columns * size}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, columns * size, height);
    list.forEach((shard, i) => {
      const x = (i % columns) * size, y = Math.floor(i / columns) * size, side = size - 2;
      context.strokeStyle = style.getPropertyValue('--text');
      if (shard.isStarted === false) {
        context.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
      } else {
        context.fillStyle = style.getPropertyValue(`--level-${shard.level}`);
        context.fillRect(x, y, side, side);
      }
      if (shard.isMoving) {
        context.strokeStyle = style.getPropertyValue('--critical');
        context.lineWidth = 2;
        context.beginPath();
        context.moveTo(x + 1, y + side - 1);
        context.lineTo(x + side - 1, y + 1);
        context.stroke();
        context.lineWidth = 1;
      }
    });
    canvas.at = (event) => list[Math.floor(event.offsetY / size) * columns + Math.floor(event.offsetX / size)];
  }
  return h('div', { class: 'cells' }, h('canvas', { 'aria-hidden': 'true', draw,
    onclick: (event) => { const shard = event.currentTarget.at(event); if (shard) choose(shard); } }));
}

// ---- actions ----

function button(text, run) {
  return h('button', { type: 'button', onclick: run }, text);
}

const dialog = document.getElementById('dialog');

function show(title, ...children) {
  dialog.replaceChildren(...dialogContent(title, children));
  if (!dialog.open) dialog.showModal();
}

const dialogContent = (title, children) => [h('h2', { id: 'dialog-title' }, title), ...h('div', null, ...children).childNodes];

function closeButton() {
  return h('div', { class: 'row' }, button('Close', () => dialog.close()));
}

/** Asks, and then does it: with the effect in words. */
function confirmAction(title, effect, route, body, fields = [], method = 'POST') {
  const inputs = Object.fromEntries(fields.map((field) => [field.name, field.of]));
  const form = h('form', { onsubmit: (event) => { event.preventDefault(); carryOut(); } },
    h('p', null, effect), fields.map((field) => h('div', { class: 'row' }, h('label', null, field.text, field.of))),
    h('div', { class: 'row' }, h('button', { class: 'main', type: 'submit' }, title), button('Cancel', () => dialog.close())));
  async function carryOut() {
    const sent = { ...body };
    for (const [name, input] of Object.entries(inputs)) if (input.value) sent[name] = input.value;
    try {
      await follow(title, await ask(method, route, sent));
    } catch (error) {
      show(title, h('p', { class: 'critical', role: 'alert' }, `${GLYPHS.critical} ${error.message}`), error.hint ? h('p', null, error.hint) : null, closeButton());
    }
  }
  show(title, form);
}

/** Shows an operation until it ends. */
async function follow(title, operation) {
  if (!operation.id) {
    show(title, h('p', null, word('ok', 'accepted')), closeButton());
    return;
  }
  show(title);
  while (dialog.open) { // until the user has enough of it
    const kind = !operation.ended ? 'notice' : operation.state === 'done' ? 'ok' : 'critical';
    morphChildren(dialog, dialogContent(title, [h('p', { role: 'status' }, word(kind, operation.state), operation.text ? `: ${operation.text}` : ''),
      operation.stallUs ? h('p', null, `Its messages waited for ${number(operation.stallUs / 1000)} ms.`) : null,
      h('p', { class: 'old' }, 'Operation ', h('code', null, operation.id)), closeButton()]));
    if (operation.ended) return;
    await new Promise((resolve) => setTimeout(resolve, 300));
    operation = await get('operations', operation.id);
  }
}

const reason = () => ({ name: 'reason', text: 'Reason', of: h('input', { maxlength: 200, 'aria-label': 'Reason' }) });

function nodeActions(node) {
  const actions = [];
  if (mayDo('operate')) {
    actions.push(button('Cordon…', () => confirmAction('Cordon', `${node} gets no more shards while others take them. Those that it has stay.`, path('members', node, 'cordon'), {}, [reason()])),
      button('Uncordon…', () => confirmAction('Uncordon', `${node} gets shards again.`, path('members', node, 'uncordon'), {}, [reason()])),
      button('Drain…', () => confirmAction('Drain', `All shards of ${node} move to other members. It stays a member and gets no more shards until it is uncordoned.`, path('members', node, 'drain'), {}, [reason()])),
      button('Leave…', () => confirmAction('Leave', `${node} hands its shards over and leaves the cluster. Its process ends.`, path('members', node, 'leave'))));
  }
  if (mayDo('admin')) actions.push(button('Down…', () => confirmAction('Down', `The cluster treats ${node} as failed and removes it. Its shards start elsewhere. Do this only if its process does not run any more.`, path('members', node, 'down'))));
  return actions.length ? h('div', { class: 'row' }, actions) : null;
}

// ---- the views ----

const nodes = () => (state.status ? state.status.nodes : []);
const types = () => (state.status ? state.status.types : []);

/** The type of the address, or the one with the most entities. */
function typeOf() {
  return state.words[0] || types().reduce((most, type) => (!most || type.entities > most.entities ? type : most), null)?.type;
}

function chooseType(view) {
  const chosen = typeOf();
  return h('label', null, 'Type ', h('select', { onchange: (event) => go(view, event.currentTarget.value) },
    [...new Set([chosen, ...types().map((type) => type.type)])].filter(Boolean).map((type) => h('option', { value: type, selected: type === chosen }, type))));
}

function levelled(homes, running) {
  const entities = new Map((running || []).map((row) => [row.shard, row]));
  const mean = sum(running || [], 'entities') / Math.max(1, homes.length);
  return homes.map((home) => {
    const row = entities.get(home.shard);
    return { shard: home.shard, home: home.home, isMoving: home.moving, isStarted: home.started, entities: row ? row.entities : null, state: row ? row.state : null,
      lane: row ? row.lane : null, level: row && row.entities ? Math.max(1, Math.min(6, Math.round(3 * row.entities / mean))) : 0, type: home.type };
  }).sort((left, right) => byName(left.shard, right.shard));
}

const views = {
  now: {
    key: 'n', name: 'Now', every: 5000,
    command: () => 'sherd status',
    load: async () => {
      const lists = await Promise.all(types().slice(0, 4).map((type) => orNull(ask('GET', `${path('types', type.type, 'homes')}?limit=1000`))));
      return lists.filter(Boolean).flatMap((list) => levelled(list.items, null));
    },
    draw: (shards) => {
      const status = state.status, total = status.totals;
      const rate = sum([...state.rates.values()].map((of) => ({ rate: of.values.at(-1) })), 'rate');
      return [
        facts(['Up', number(status.members.up)], ['Unreachable', number(status.members.unreachable)], ['Joining', number(status.members.joining)], ['Leaving', number(status.members.leaving)],
          ['Messages/s', number(Math.round(rate))], ['Entities', number(total.entities)], ['Shards', number(total.shards)], ['Moving', number(sum(status.types, 'moving'))], ['Waiting', number(total.waiting)], ['Undelivered', number(total.undelivered)],
          ['Versions', Object.entries(status.versions).map(([version, count]) => `${version || 'none'} ×${count}`).join(', ')]),
        h('h2', null, 'Nodes'), nodes().map((node) => nowNode(node, (shards || []).filter((shard) => shard.home === node.node))),
        h('h2', null, 'Entity types'),
        table('All members together', [['Type', (type) => link(type.type, 'shards', type.type)], ['Coordinator', (type) => (type.coordinator ? link(type.coordinator, 'nodes', type.coordinator) : word('critical', 'none'))],
          ['Shards', (type) => number(type.hosted), 'number'], ['of', (type) => number(type.numberOfShards), 'number'], ['Moving', (type) => number(type.moving), 'number'],
          ['Entities', (type) => number(type.entities), 'number'], ['Waiting', (type) => number(type.waiting), 'number'], ['Homes asked for', (type) => number(type.wanted), 'number']], types(), 'No entity type is registered.')];
    },
  },
  shards: {
    key: 's', name: 'Shards', every: 5000,
    command: () => (state.words[1] ? `sherd shard show ${shell(state.words[0])} ${shell(state.words[1])}` : `sherd shard ls ${shell(typeOf() || 'TYPE')}`),
    load: async () => {
      const type = typeOf(), shard = state.words[1];
      if (!type) return null;
      const [homes, running, one, why] = await Promise.all([orNull(rows(path('types', type, 'homes'))), orNull(rows(path('types', type, 'shards'))),
        shard ? orNull(get('types', type, 'shards', shard)) : null,
        shard ? orNull(ask('GET', `/explain?of=shard&type=${encodeURIComponent(type)}&shard=${encodeURIComponent(shard)}`)) : null]);
      return { type, homes, running, one, why };
    },
    draw: (data) => {
      if (!data || !data.homes) return h('p', null, 'No such entity type.');
      const all = levelled(data.homes.rows, data.running.rows), chosen = state.words[1];
      const owners = [...new Set([...nodes().map((node) => node.node), ...all.map((shard) => shard.home)])].sort(byName);
      const open = (shard) => go('shards', data.type, shard.shard);
      const most = [...all].sort((left, right) => (right.entities || 0) - (left.entities || 0)).slice(0, 100);
      return [h('div', { class: 'row' }, chooseType('shards'), h('span', null, 'Entities:', h('span', { class: 'key l0' }), 'none', h('span', { class: 'key l3' }), 'the mean', h('span', { class: 'key l6' }), 'twice that or more. A stroke: moving. Hollow: not started.')),
        missing(data.homes.end), missing(data.running.end),
        chosen ? shardDetail(data, chosen) : null,
        owners.map((owner) => {
          const own = all.filter((shard) => shard.home === owner);
          return h('section', { 'data-key': owner, 'aria-label': owner }, h('h2', null, link(owner, 'nodes', owner), ` ${number(own.length)} shards, ${number(sum(own, 'entities'))} entities`), own.length ? cells(own, open) : null);
        }),
        h('h2', null, 'As a table'),
        table(`The ${most.length} shards with the most entities, of ${number(all.length)}`, [['Shard', (shard) => link(shard.shard, 'shards', data.type, shard.shard)], ['Home', (shard) => link(shard.home, 'nodes', shard.home)], ['Lane', (shard) => number(shard.lane), 'number'],
          ['Entities', (shard) => number(shard.entities), 'number'], ['State', (shard) => (shard.isMoving ? word('notice', 'moving') : shard.state || '–')]], most, 'No shard has a home yet.')];
    },
  },
  entity: {
    name: 'Entity', every: 1000,
    command: () => `sherd explain entity ${shell(state.words[0] || 'TYPE')} ${shell(state.words[1] || 'ID')}`,
    load: async () => {
      const [type, id] = state.words;
      if (!type || !id) return null;
      const query = `type=${encodeURIComponent(type)}&id=${encodeURIComponent(id)}`;
      const [where, entity, why] = await Promise.all([orNull(get('types', type, 'entities', id, 'where')), orNull(get('types', type, 'entities', id)), orNull(ask('GET', `/explain?of=message&${query}`))]);
      return { where, entity: entity && entity.entity, why };
    },
    draw: (data) => {
      const [type, id] = state.words;
      const form = h('form', { class: 'row', onsubmit: (event) => { event.preventDefault(); const of = new FormData(event.currentTarget); go('entity', of.get('type'), of.get('id')); } },
        h('label', null, 'Type ', h('input', { name: 'type', required: true, value: type || typeOf() || '' })), h('label', null, 'Id ', h('input', { name: 'id', required: true, value: id || '' })), h('button', { type: 'submit' }, 'Find'));
      if (!data) return [h('p', null, 'Finds an entity without starting it.'), form];
      const where = data.where, entity = data.entity;
      return [form, missing(where),
        where ? facts(['Entity', h('span', { class: 'mono' }, `${type}/${id}`)], ['Shard', where.shard ? link(where.shard, 'shards', type, where.shard) : '–'], ['Node', where.node ? link(where.node, 'nodes', where.node) : '–'],
          ['Fence', where.fence ? `${where.fence.term}.${where.fence.epoch}` : '–'], ['State of the shard', where.shardState || '–'], ['Status', entity ? entity.status : 'does not run']) : h('p', null, word('warning', 'No such entity type.')),
        entity ? facts(['Mailbox', number(entity.mailbox)], ['Sequence', number(entity.sequence)], ['Idle', span(entity.idleMs)], ['Not durable', number(entity.notDurable)], ['Held effects', number(entity.held)], ['Asks and jobs', number(entity.asks)], ['Timers', number(entity.timers)],
          ['State', `${number(entity.stateBytes)} B`], ['Failed starts', number(entity.failedStarts)], ['Fault', entity.fault || 'none']) : null,
        h('h2', null, 'What a message would meet now'), findings(data.why)];
    },
  },
  rebalance: {
    key: 'r', name: 'Rebalance', every: 2000,
    command: () => `sherd explain rebalance ${shell(typeOf() || 'TYPE')}`,
    load: async () => {
      const type = typeOf();
      const [why, one, operations] = await Promise.all([type ? orNull(ask('GET', `/explain?of=rebalance&type=${encodeURIComponent(type)}`)) : null, type ? orNull(get('types', type)) : null, get('operations')]);
      return { type, why, one, operations: operations.items };
    },
    draw: (data) => {
      const type = data.type;
      return [h('div', { class: 'row' }, chooseType('rebalance'),
        type && mayDo('operate') ? [button('Pause…', () => confirmAction('Pause rebalancing', `No rebalance moves shards of ${type}. Drains, leaves and moves by hand go on.`, path('types', type, 'rebalance', 'pause'), {}, [reason()])),
          button('Resume…', () => confirmAction('Resume rebalancing', `Rebalances move shards of ${type} again.`, path('types', type, 'rebalance', 'resume'), {}, [reason()])),
          button('Move a shard…', () => moveDialog(type, state.words[1] || ''))] : null),
      missing(data.one), findings(data.why),
      data.one ? table('Coordinator', [['Node', (row) => link(row.node, 'nodes', row.node)], ['Active', (row) => flag(row.active)], ['Term', (row) => row.term || '–'], ['Paused', (row) => row.paused || 'no', 'text'], ['Regions', (row) => number(row.regions), 'number'], ['Awaited members', (row) => number(row.awaited), 'number'],
        ['Hand-offs that begin', (row) => number(row.handoffsBeginning), 'number'], ['that stop', (row) => number(row.handoffsStopping), 'number']], data.one.coordinators, 'No member answers for the coordinator.') : null,
      data.one ? table('Regions', [['Node', (row) => link(row.node, 'nodes', row.node)], ['Registered', (row) => flag(row.registered)], ['Shards', (row) => number(row.hosted), 'number'], ['Entities', (row) => number(row.entities), 'number'], ['Waiting', (row) => number(row.waiting), 'number']], [...data.one.byNode].sort((left, right) => byName(left.node, right.node))) : null,
      h('h2', null, 'Operations'), operationTable(data.operations)];
    },
  },
  nodes: {
    key: 'd', name: 'Nodes', every: 2000,
    command: () => (state.words[0] ? `sherd node show ${state.words[0]}` : 'sherd node ls'),
    load: async () => {
      const name = state.words[0];
      if (name) {
        const [member, why] = await Promise.all([orNull(get('members', name)), orNull(ask('GET', `/explain?of=node&node=${encodeURIComponent(name)}`))]);
        return { member, why };
      }
      const answering = nodes().filter((node) => node.state === 'ok').slice(0, 16);
      const [all, ...seen] = await Promise.all([get('members'), ...answering.map((node) => ask('GET', `/members?view=${encodeURIComponent(node.node)}`).catch(() => null))]);
      return { all, seen: answering.map((node, i) => ({ node: node.node, list: seen[i] })).filter((one) => one.list) };
    },
    draw: (data) => (state.words[0] ? nodeDetail(data) : [missing(data.all),
      table(`Members as ${data.all.seenBy} sees them`, [['Node', (row) => link(row.node, 'nodes', row.node)], ['Status', (row) => row.status], ['Reachable', (row) => (row.reachable ? 'yes' : word('critical', 'no'))], ['Ready', (row) => flag(row.says && row.says.ready)],
        ['Agrees', (row) => flag(row.seen)], ['Roles', (row) => (row.roles || []).join(', ')], ['Version', (row) => row.appVersion || '–'], ['Up for', (row) => span(row.says && row.says.uptimeMs)], ['Answer', (row) => (row.state === 'ok' ? 'ok' : word('warning', row.state))]], data.all.items),
      h('h2', null, 'As each member sees the others'),
      table('A row is a member that looks. A mark other than ● shows a disagreement to look into.', [['Seen by', (row) => link(row.node, 'nodes', row.node)],
        ...data.all.items.map((member) => [member.node, (row) => sight(row.list.items.find((one) => one.node === member.node))])], data.seen)]),
  },
  hot: {
    key: 'h', name: 'Hot', every: 2000,
    command: () => 'sherd hot',
    load: () => ask('GET', '/hot?limit=50'),
    draw: (data) => [missing(data),
      table('Entities with the most messages, estimated from samples; ± is the most that may belong to another one', [['Entity', (row) => link(`${row.type}/${idOf(row)}`, 'entity', row.type, idOf(row))], ['Shard', (row) => link(row.shard, 'shards', row.type, row.shard)], ['Node', (row) => link(row.node, 'nodes', row.node)], ['Lane', (row) => number(row.lane), 'number'],
        ['Messages/s', (row) => number(row.messages * 1000 / Math.max(1, row.windowMs)), 'number'], ['±', (row) => number(row.error * 1000 / Math.max(1, row.windowMs)), 'number'], ['of its lane', (row) => (row.of ? `${Math.round(100 * row.messages / row.of)} %` : '–'), 'number']], data.items, 'No entity has had messages lately.')],
  },
  undelivered: {
    key: 'u', name: 'Undelivered', every: 2000,
    command: () => 'sherd undelivered',
    load: async () => ({ last: await ask('GET', '/undelivered?limit=200'), lanes: (await rows('/lanes')).rows }),
    draw: (data) => {
      const reasons = new Map();
      for (const row of data.last.items) reasons.set(row.reason, (reasons.get(row.reason) || 0) + 1);
      return [missing(data.last),
        table('Every lane’s sum: what was sent there and arrived is delivered, undelivered, gone to other lanes, or waits', [['Node', (row) => link(row.node, 'nodes', row.node)], ['Lane', (row) => number(row.lane), 'number'], ['Sent', (row) => number(row.sent), 'number'], ['Arrived', (row) => number(row.arrived), 'number'], ['Delivered', (row) => number(row.delivered), 'number'],
          ['Undelivered', (row) => number(row.undelivered), 'number'], ['Left', (row) => number(row.left), 'number'], ['Waiting', (row) => number((row.waiting || 0) + (row.buffered || 0)), 'number']], data.lanes),
        table(`Reasons of the last ${data.last.items.length}`, [['Reason', (row) => row[0]], ['Messages', (row) => number(row[1]), 'number']], [...reasons].sort((left, right) => right[1] - left[1]), 'No message was undelivered lately.'),
        table('The last ones', [['Time', (row) => clock(row.time)], ['Node', (row) => link(row.node, 'nodes', row.node)], ['Reason', (row) => row.reason], ['Type', (row) => row.type || '–'], ['Bytes', (row) => number(row.size), 'number']], data.last.items)];
    },
  },
  timeline: {
    key: 't', name: 'Timeline', every: 2000,
    command: () => 'sherd events',
    load: () => ask('GET', '/timeline?limit=300'),
    draw: (data) => {
      const kinds = [...new Set(data.items.map((row) => row.event))].sort();
      return [h('div', { class: 'row' }, h('label', null, 'Event ', h('select', { onchange: (event) => { state.kind = event.currentTarget.value; render(); } }, h('option', { value: '' }, 'all'), kinds.map((kind) => h('option', { value: kind, selected: kind === state.kind }, kind))))), missing(data),
        table('Decisions of all members, the newest first', [['Time', (row) => clock(row.time)], ['Node', (row) => link(row.node, 'nodes', row.node)], ['Event', (row) => row.event], ['Type', (row) => row.type || ''], ['Shard', (row) => row.shard || ''], ['Member', (row) => row.member || ''], ['', (row) => row.text || '', 'text']],
          data.items.filter((row) => !state.kind || row.event === state.kind))];
    },
  },
  storage: {
    key: 'j', name: 'Storage', every: 2000,
    command: () => 'sherd metrics "sherd_journal_*"',
    load: async () => ({ lanes: await rows('/lanes'), types: await get('types') }),
    draw: (data) => [missing(data.lanes.end),
      table('Journal by lane', [['Node', (row) => link(row.node, 'nodes', row.node)], ['Lane', (row) => number(row.lane), 'number'], ['Stored events', (row) => number(row.events), 'number'], ['Recovering entities', (row) => number(row.recovering), 'number'], ['Effects that wait for durability', (row) => number(row.held), 'number']], data.lanes.rows),
      table('Types', [['Type', (row) => link(row.type, 'shards', row.type)], ['Persists', (row) => flag(row.byNode.length ? row.byNode[0].persists : null)], ['Remembers entities', (row) => flag(row.byNode.length ? row.byNode[0].remembers : null)], ['Term', (row) => row.term || '–', 'number']], data.types.items)],
  },
  config: {
    key: 'c', name: 'Config', every: 30000,
    command: () => 'sherd config diff',
    load: async () => ({ diff: await get('config', 'diff'), own: await rows(`/config?node=${encodeURIComponent(state.status.self)}`) }),
    draw: (data) => [missing(data.diff),
      table('Settings that differ between members', [['Setting', (row) => row.key, 'mono'], ['Values', (row) => row.values.map((one) => h('div', null, h('span', { class: 'mono' }, `${one.node}: ${known(one.value) ? one.value : 'not set'}`))), 'text']], data.diff.items, 'None: all members that answered have the same.'),
      table(`Settings of ${state.status.self}`, [['Setting', (row) => row.key, 'mono'], ['Value', (row) => row.value, 'text'], ['Source', (row) => row.source]], data.own.rows)],
  },
};

function nowNode(node, shards) {
  const isThere = node.state === 'ok', before = state.last.get(node.node) || {}, of = isThere ? node : before;
  const age = Date.parse(state.status.asOf) - Date.parse(node.asOf || before.asOf || '') + Date.now() - state.statusAt;
  const rates = state.rates.get(node.node);
  const value = (field, text = number) => (isThere || !known(of[field]) ? text(of[field]) : h('s', { title: 'the last value; it does not answer now' }, text(of[field])));
  const kind = !isThere || node.reachable === false ? 'critical' : node.status !== 'Up' || !node.ready ? 'warning' : node.cordon ? 'notice' : 'ok';
  const text = node.reachable === false ? 'unreachable' : !isThere ? `no answer (${node.state})` : node.status === 'Up' && !node.ready ? 'Up, not ready' : node.cordon || node.status || 'unknown';
  return h('div', { class: `node ${!isThere || age > OLD_MS ? 'old' : ''}`, 'data-key': node.node }, h('div', { class: 'node-head' },
    h('span', { class: 'name' }, link(node.node, 'nodes', node.node)), word(kind, text),
    h('span', null, `${isThere && rates && rates.values.length ? number(Math.round(rates.values.at(-1))) : '–'} messages/s`), spark(rates && isThere ? rates.values : []),
    h('span', null, value('shards'), ' shards'), h('span', null, value('entities'), ' entities'), h('span', null, value('waiting'), ' waiting'), h('span', null, value('undelivered'), ' undelivered'), h('span', null, 'up ', value('uptimeMs', span)),
    h('span', { class: 'old' }, Number.isNaN(age) ? 'never answered' : `${span(Math.max(0, age))} ago`)),
  shards.length ? cells(shards.map((shard) => ({ ...shard, level: 3 })), (shard) => go('shards', shard.type, shard.shard)) : null);
}

function sight(seen) {
  if (!seen) return word('warning', 'not known');
  if (!seen.reachable) return word('critical', `${seen.status}, unreachable`);
  return word(seen.status === 'Up' ? 'ok' : 'notice', seen.status);
}

function shardDetail(data, shard) {
  const home = data.one && data.one.home, running = data.one ? data.one.running : [];
  return h('section', { 'aria-label': `Shard ${shard}` }, h('h2', null, `Shard ${shard} of ${data.type}`),
    facts(['Home', home ? link(home.home, 'nodes', home.home) : 'none'], ['Fence', home ? `${home.term}.${home.epoch}` : '–'], ['Started', home ? flag(home.started) : '–'], ['Moving', home ? flag(home.moving) : '–'],
      ['Runs at', running.length ? running.map((row) => [link(row.node, 'nodes', row.node), ` (${row.state})`]) : 'nowhere'], ['Entities', number(running.length ? sum(running, 'entities') : null)]),
    findings(data.why), h('div', { class: 'row' }, mayDo('operate') ? button('Move…', () => moveDialog(data.type, shard)) : null, link('Close', 'shards', data.type)));
}

function moveDialog(type, shard) {
  const to = h('select', { 'aria-label': 'To' }, nodes().filter((node) => node.state === 'ok').map((node) => h('option', { value: node.node }, node.node)));
  const which = h('input', { value: shard, required: true, 'aria-label': 'Shard', size: 8 });
  show('Move a shard', h('form', { onsubmit: (event) => {
    event.preventDefault();
    confirmAction('Move', `Shard ${which.value} of ${type} moves to ${to.value}. Its messages wait meanwhile; none is lost. Rebalances leave it there for 10 minutes.`, path('types', type, 'shards', which.value, 'move'), { to: to.value }, [reason()]);
  } }, h('div', { class: 'row' }, h('label', null, 'Shard ', which), h('label', null, 'to ', to)), h('div', { class: 'row' }, h('button', { class: 'main', type: 'submit' }, 'Next'), button('Cancel', () => dialog.close()))));
}

function operationTable(list) {
  return table(`Begun at ${state.status.self}, the newest first`, [['Since', (row) => clock(row.since)], ['Kind', (row) => row.kind], ['Of', (row) => [row.type, row.shard].filter(Boolean).join(' ') || row.node || '–'], ['State', (row) => word(!row.ended ? 'notice' : row.state === 'done' ? 'ok' : 'warning', row.state)],
    ['By', (row) => row.by], ['Stall', (row) => (row.stallUs ? `${number(row.stallUs / 1000)} ms` : '–'), 'number'], ['', (row) => row.text || row.reason || '', 'text']], list, 'None.');
}

function nodeDetail(data) {
  const name = state.words[0], member = data.member, says = member && member.says;
  if (!member) return h('p', null, `${name} is no member.`);
  return [h('h2', null, name), facts(['Status', member.status || '–'], ['Reachable', member.reachable ? 'yes' : word('critical', 'no')], ['Ready', flag(says && says.ready)], ['Cordon', (says && says.cordon) || 'none'], ['Roles', (member.roles || []).join(', ') || 'none'], ['Version', member.appVersion || '–'], ['Up for', span(says && says.uptimeMs)], ['Incarnation', member.uid], ['Answer', member.state]),
    nodeActions(name), findings(data.why),
    table('Lanes', [['Lane', (row) => number(row.lane), 'number'], ['Entities', (row) => number(row.entities), 'number'], ['Runnable', (row) => number(row.runnable), 'number'], ['Delivered', (row) => number(row.delivered), 'number'], ['Undelivered', (row) => number(row.undelivered), 'number'], ['Waiting', (row) => number(row.waiting), 'number'], ['Buffered', (row) => number(row.buffered), 'number'], ['Asks', (row) => number(row.asks), 'number'], ['Slow handlers', (row) => number(row.slowHandlers), 'number'], ['Memory', (row) => `${number((row.memory || 0) / 1048576)} MiB`, 'number']], member.lanes || [], 'It does not answer.')];
}

const shell = (text) => (/^[\w.:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// ---- the page ----

function go(...words) {
  location.hash = path(...words);
}

function readAddress() {
  const hash = location.hash.slice(1);
  const token = /^token=([\w.~-]+)/.exec(hash);
  if (token) { // of a link that a program printed: it stays in no address
    Object.assign(state, { token: token[1], about: null });
    sessionStorage.setItem('sherd-token', state.token);
    history.replaceState(null, '', location.pathname);
  }
  const words = token ? [] : hash.split('/').slice(1).map((one) => { try { return decodeURIComponent(one); } catch { return one; } });
  const view = views[words[0]] ? words[0] : 'now';
  const isOther = view !== state.view;
  Object.assign(state, { view, words: words.slice(1).filter(Boolean), loadAt: 0, dataFault: null });
  if (isOther || !['shards', 'entity'].includes(view)) state.data = null;
  state.generation = (state.generation || 0) + 1;
  render();
  tick();
}

/** Browsers let only pages of https and of this host copy. */
async function copy(text) {
  const isCopied = navigator.clipboard ? await navigator.clipboard.writeText(text).then(() => true, () => false) : false;
  show(isCopied ? 'Copied' : 'Copy this', h('p', null, h('code', null, isCopied && text.length > 400 ? `${text.slice(0, 400)}…` : text)), closeButton());
}

function find(event) {
  event.preventDefault();
  const text = new FormData(event.currentTarget).get('find').trim(), slash = text.indexOf('/');
  if (slash > 0) go('entity', text.slice(0, slash), text.slice(slash + 1));
  else if (/:\d+$/.test(text)) go('nodes', text);
  else if (text) go('shards', text);
}

function tokenForm() {
  return h('form', { class: 'row', onsubmit: (event) => {
    event.preventDefault();
    state.token = new FormData(event.currentTarget).get('token').trim();
    sessionStorage.setItem('sherd-token', state.token);
    Object.assign(state, { asksToken: false, about: null, loadAt: 0 });
    tick();
  } }, h('p', null, 'This node asks for a token. It stays in this tab alone.'), h('label', null, 'Token ', h('input', { name: 'token', type: 'password', required: true, autocomplete: 'off' })), h('button', { type: 'submit' }, 'Use'));
}

function renderHead() {
  const status = state.status, age = status ? Date.now() - state.statusAt : 0;
  const answering = nodes().filter((node) => node.state === 'ok').length;
  put('head', h('h1', null, status ? status.cluster : 'Sherd'),
    status ? word(status.health, status.health) : word('unknown', 'no answer yet'),
    status ? h('span', null, `${answering} of ${nodes().length} nodes answer`) : null,
    status ? h('span', { class: age > OLD_MS ? 'word warning' : null }, age > OLD_MS ? `${GLYPHS.warning} last answer ${span(age)} ago` : clock(status.asOf)) : null,
    button(state.isPaused ? 'Go on' : 'Pause', togglePause),
    h('form', { role: 'search', onsubmit: find }, h('label', { class: 'hidden', for: 'find' }, 'Find'), h('input', { id: 'find', name: 'find', placeholder: 'Type/id, host:port or Type' }), h('button', { type: 'submit' }, 'Find')));
  document.title = `${status ? `${GLYPHS[status.health]} ${status.cluster}` : 'Sherd'} – ${views[state.view].name}`;
}

function render() {
  const view = views[state.view];
  renderHead();
  put('views', Object.entries(views).map(([name, of]) => h('a', { href: `#/${name}`, 'aria-current': name === state.view ? 'page' : null }, of.name)));
  put('problems', state.fault ? h('div', { class: 'problem critical' }, h('p', null, word('critical', 'critical'), ' ', h('b', null, `${state.status ? state.status.self : 'The node'} does not answer: ${state.fault}`))) : null,
    state.status ? state.status.problems.map(problem) : null);
  let content = h('p', null, 'Loading…');
  if (state.asksToken) content = tokenForm();
  else if (state.dataFault) content = h('p', { class: 'critical' }, `${GLYPHS.critical} ${state.dataFault}`);
  else if (state.status && (state.data !== null || state.view === 'now' || (state.view === 'entity' && state.words.length < 2))) content = view.draw(state.data);
  put('main', content);
  put('foot', state.about ? `Sherd ${state.about.version}, ${state.about.self}, right: ${state.about.right}${state.about.readOnly ? ', read-only' : ''}` : '',
    button('Copy as command', () => copy(view.command())), button('Copy JSON', () => copy(JSON.stringify(state.data ?? state.status))), button('Keys', help));
}

function help() {
  show('Keys', table('Press one after the other', [['Keys', (row) => h('code', null, row[0])], ['Effect', (row) => row[1]]],
    [['/', 'find'], ['p', 'pause, go on'], ['?', 'this list'], ...Object.values(views).filter((view) => view.key).map((view) => [`g ${view.key}`, view.name])]), closeButton());
}

function togglePause() {
  state.isPaused = !state.isPaused;
  render();
  tick();
}

/** Remembers what each node said, and the rate of its messages. */
function keep(status) {
  for (const node of status.nodes) {
    if (node.state !== 'ok') continue;
    const at = Date.parse(node.asOf), before = state.rates.get(node.node);
    state.last.set(node.node, node);
    if (!before || node.delivered < before.delivered) {
      state.rates.set(node.node, { at, delivered: node.delivered, values: [] });
    } else if (at > before.at) {
      const values = [...before.values, (node.delivered - before.delivered) * 1000 / (at - before.at)].slice(-SPARKS);
      state.rates.set(node.node, { at, delivered: node.delivered, values });
    }
  }
  const now = new Set(status.nodes.map((node) => node.node));
  for (const name of [...state.rates.keys()]) if (!now.has(name)) { state.rates.delete(name); state.last.delete(name); }
}

async function askStatus() {
  state.isAsking = true;
  try {
    if (!state.about) state.about = await get();
    const status = await get('status');
    Object.assign(state, { status, statusAt: Date.now(), fault: null, asksToken: false });
    keep(status);
  } catch (error) {
    state.fault = state.asksToken ? null : error.message;
  }
  state.isAsking = false;
  state.askedAt = Date.now();
  render();
}

async function load() {
  const generation = state.generation;
  state.isLoading = true;
  let data = null, fault = null;
  try {
    data = await views[state.view].load();
  } catch (error) {
    fault = error.message;
  }
  state.isLoading = false;
  if (generation !== state.generation) return; // the user has gone on
  if (!fault) state.data = data;
  state.dataFault = state.data === null && state.view !== 'now' ? fault : null;
  state.loadAt = Date.now();
  render();
}

function tick() {
  if (state.isPaused || state.asksToken || (state.hiddenSince && Date.now() - state.hiddenSince > HIDDEN_MS)) return;
  if (!state.isAsking && Date.now() - (state.askedAt || 0) >= 1000) askStatus();
  if (!state.isLoading && state.status && !state.asksToken && Date.now() - state.loadAt >= views[state.view].every) load();
}

let goes = false; // `g` was pressed
document.addEventListener('keydown', (event) => {
  if (event.target.matches('input, select, textarea') || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  const view = goes && Object.entries(views).find(([, of]) => of.key === event.key);
  goes = event.key === 'g' && !goes;
  if (view) go(view[0]);
  else if (event.key === '/') { event.preventDefault(); document.getElementById('find').focus(); }
  else if (event.key === 'p') togglePause();
  else if (event.key === '?') help();
});
document.addEventListener('visibilitychange', () => {
  state.hiddenSince = document.hidden ? Date.now() : 0;
  tick();
});
dialog.addEventListener('close', () => {
  if (document.activeElement === document.body) document.getElementById('main').focus();
});
window.addEventListener('hashchange', readAddress);
window.addEventListener('resize', render);
setInterval(tick, 250);
setInterval(renderHead, 1000);
readAddress();
