// Pages of another origin in Chromium, which try to drive and to read the server: all are refused, or cannot be read.
//
// strangers.mjs PORT: the server's port on the loopback address. The token is WINDLASS_TOKEN: the pages even know it.
import http from 'node:http';
import { chromium } from 'playwright-core';

const port = Number(process.argv[2]);
const token = process.env.WINDLASS_TOKEN;
const failed = [];
const page = (text) => `<!doctype html><title>stranger</title>${text}`;
const stranger = http.createServer((_, reply) => reply.setHeader('content-type', 'text/html').end(page('')));
await new Promise((done) => stranger.listen(0, '127.0.0.1', done));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // A name that is bound to the loopback address anew is what rebinding comes to.
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP *.example 127.0.0.1'],
});
const count = async () => {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/runs?limit=1000`, { headers: { authorization: `Bearer ${token}` } });
  return (await reply.json()).items.length;
};
const before = await count();
// A server that answers all: what a page can read there shows that the attempts are good ones.
const open = http.createServer((request, reply) => {
  const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
  const isStream = request.url.endsWith('/stream');
  reply.writeHead(200, { ...cors, 'content-type': isStream ? 'text/event-stream' : 'text/javascript' });
  reply.end(isStream ? 'data: x\n\n' : '0');
});
await new Promise((done) => open.listen(0, '127.0.0.1', done));
const control = `http://127.0.0.1:${open.address().port}`;
// A blind request reads nothing anywhere, and that server speaks no WebSocket.
const unread = ['blind fetch', 'WebSocket'];
const targets = [`http://127.0.0.1:${port}`, `http://localhost:${port}`, `http://rebound.example:${port}`];

// What a page tries, and what it has read. Nothing read is right.
const attempts = {
  'fetch of a listing': async ({ target, token }) => (await fetch(`${target}/v1/runs`, { headers: { authorization: `Bearer ${token}` } })).text(),
  'fetch without a token': async ({ target }) => (await fetch(`${target}/v1/runs`)).text(),
  'fetch of the document': async ({ target }) => (await fetch(`${target}/openapi.json`)).text(),
  'fetch of /health': async ({ target }) => (await fetch(`${target}/health`)).text(),
  'blind fetch': async ({ target }) => {
    const reply = await fetch(`${target}/v1/runs`, { method: 'POST', mode: 'no-cors', body: '{"agent":"parrot","input":"x"}' });
    return reply.type === 'opaque' ? '' : reply.text();
  },
  'fetch that posts JSON': async ({ target, token }) => (await fetch(`${target}/v1/runs`, {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` }, body: '{"agent":"parrot","input":"x"}',
  })).text(),
  EventSource: ({ target }) => new Promise((done) => {
    const source = new EventSource(`${target}/v1/runs/00000000-0000-7000-8000-000000000000/stream`);
    source.onmessage = (event) => done(event.data);
    source.onopen = () => done('opened');
    source.onerror = () => done('');
  }),
  'a script': ({ target }) => new Promise((done) => {
    const script = document.createElement('script');
    script.onload = () => done('loaded');
    script.onerror = () => done('');
    script.src = `${target}/openapi.json`;
    document.head.append(script);
  }),
  WebSocket: ({ target }) => new Promise((done) => {
    const socket = new WebSocket(target.replace('http', 'ws'));
    socket.onopen = () => done('opened');
    socket.onerror = () => done('');
  }),
};
const origins = [`http://127.0.0.1:${stranger.address().port}`, `http://evil.example:${stranger.address().port}`];
let tried = 0;
for (const origin of origins) {
  const tab = await browser.newPage();
  await tab.goto(origin);
  for (const target of targets) {
    for (const [name, attempt] of Object.entries(attempts)) {
      const readable = await tab.evaluate(attempt, { target: control, token }).catch(() => '');
      if (!readable && !unread.includes(name)) failed.push(`${origin}: ${name} does not work even where it may`);
      tried += 1;
      const read = await tab.evaluate(attempt, { target, token }).catch(() => '');
      if (read) failed.push(`${origin}: ${name} of ${target} has read ${JSON.stringify(read).slice(0, 200)}`);
    }
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
      tried += 1;
      const form = await browser.newPage();
      await form.goto(origin);
      await form.setContent(page(`<form method=post action="${target}/v1/runs" enctype="${type}"><input name='{"agent":"parrot","input":"x","a":"' value='"}'></form>`));
      const [reply] = await Promise.all([
        form.waitForResponse((reply) => reply.url().startsWith(target), { timeout: 10_000 }).catch(() => null),
        form.evaluate(() => document.forms[0].submit()),
      ]);
      if (!reply || reply.status() < 400) failed.push(`${origin}: a form (${type}) to ${target}: ${reply?.status()}`);
      await form.close();
    }
  }
  // A page under a name that is bound to the server's own address is of the server's own origin: the name must be refused.
  tried += 1;
  const rebound = await tab.goto(`http://rebound.example:${port}/openapi.json`);
  if (rebound.status() < 400) failed.push(`a name that is bound anew is served: ${rebound.status()}`);
  await tab.close();
}
const after = await count();
if (after !== before) failed.push(`${before} runs before, ${after} afterwards`);
await browser.close();
stranger.close();
open.close();
if (failed.length) {
  console.error(`broken: ${failed.join('\nbroken: ')}`);
  process.exit(1);
}
console.log(JSON.stringify({ attempts: tried, read: 0, runs_begun: 0 }));
