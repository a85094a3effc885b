// Follows runs with undici. Each reader is cut at random bytes, comes back with Last-Event-ID, and must see an unbroken sequence.
//
// follow.mjs SERVER RUNS CUTS: the token is WINDLASS_TOKEN. Prints one line of figures; ends with 1 where a promise was broken.
import { request } from 'undici';

const [server, runs, cutsEach] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const headers = { authorization: `Bearer ${process.env.WINDLASS_TOKEN}` };
const figures = { runs, cuts: 0, events: 0, pieces: 0 };
let state = 1;
const chance = (end) => {
  state = (state * 48271) % 2147483647;
  return state % end;
};
const broken = (why) => {
  console.error(`broken: ${why}`);
  process.exit(1);
};

function take(seen, block) {
  const fields = Object.fromEntries(block.split('\n').filter((line) => line.includes(': ')).map((line) => {
    const at = line.indexOf(': ');
    return [line.slice(0, at), line.slice(at + 2)];
  }));
  if (!fields.data) return false;
  const data = JSON.parse(fields.data);
  seen.id = fields.id;
  if (fields.event === 'events') {
    for (const fact of data.events) {
      figures.events += 1;
      if (fact.seq !== seen.seq + 1) broken(`event ${fact.seq} after ${seen.seq}`);
      seen.seq = fact.seq;
      if (fact.event === 'TurnCompleted') {
        if (seen.text !== '' && seen.text !== (fact.data.text ?? '')) broken(`pieces ${seen.text} of ${fact.data.text}`);
        seen.text = '';
      }
    }
  } else if (fields.event === 'text') {
    figures.pieces += 1;
    seen.text += data.text;
  } else if (fields.event === 'void') {
    seen.text = '';
  } else if (fields.event === 'end') {
    return data.reason === 'finished';
  }
  return false;
}

async function read(run, seen, most) {
  const back = seen.id ? { 'last-event-id': seen.id } : {};
  const { statusCode, body } = await request(`${server}/v1/runs/${run}/stream`, { headers: { ...headers, ...back } });
  if (statusCode !== 200) broken(`the stream of ${run} is ${statusCode}: ${await body.text()}`);
  let [text, length] = ['', 0];
  for await (const piece of body) {
    if (length + piece.length > most) return false; // Leaving the loop destroys the connection.
    length += piece.length;
    text += piece.toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const done = take(seen, text.slice(0, end));
      text = text.slice(end + 2);
      if (done) return true;
    }
  }
  if (most === Infinity) broken(`the stream of ${run} ended without its end, at ${seen.id}`);
  return false;
}

for (let number = 0; number < runs; number += 1) {
  const { statusCode, body } = await request(`${server}/v1/runs`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': `undici-${process.pid}-${number}` },
    body: JSON.stringify({ agent: 'courier', input: 'part 1' }),
  });
  const started = await body.json();
  if (statusCode !== 202 && statusCode !== 201 && statusCode !== 200) broken(`a start is ${statusCode}: ${JSON.stringify(started)}`);
  const seen = { seq: 0, text: '', id: null };
  for (let cuts = cutsEach; ; cuts -= 1) {
    if (await read(started.run, seen, cuts > 0 ? chance(4000) : Infinity)) break;
    figures.cuts += 1;
  }
}
console.log(JSON.stringify(figures));
process.exit(0);
