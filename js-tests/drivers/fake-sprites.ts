// An HTTP server on the loopback interface that speaks the part of the Sprites API that checkpoints need. The test decides when
// and what it answers; nothing in it waits for time to pass.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Sprite, SpritesClient } from '@fly/sprites';
import { SpritesClient as OldClient } from 'sprites-old';
import { type Deferred, deferred } from '../contract/deferred.js';

const TOKEN = 'a-token';
const NDJSON = 'application/x-ndjson';

/** A checkpoint as the API lists it. */
export interface Listed {
  id: string;
  create_time: string;
  comment?: string;
  health?: string;
}

/** A request that has come in and that the test answers. */
export class Received {
  /** How the exchange ended: with the whole answer, or because one side cut the connection. */
  readonly closed: Promise<'whole' | 'cut'>;
  readonly #response: ServerResponse;

  constructor(
    response: ServerResponse,
    readonly sprite: string,
    readonly comment: string,
  ) {
    this.#response = response;
    this.closed = new Promise((resolve) => {
      response.on('close', () => resolve(response.writableFinished ? 'whole' : 'cut'));
    });
  }

  /** Begins an answer: the client's request is over, its stream opens. */
  open(type = NDJSON): this {
    this.#response.writeHead(200, { 'Content-Type': type });
    this.#response.flushHeaders();
    return this;
  }

  /** Sends lines: objects as JSON, strings as they are. */
  send(...lines: (object | string)[]): this {
    for (const line of lines) this.#response.write(typeof line === 'string' ? line : `${JSON.stringify(line)}\n`);
    return this;
  }

  end(): this {
    this.#response.end();
    return this;
  }

  /** Cuts the connection. */
  cut(): this {
    this.#response.destroy();
    return this;
  }

  /** A whole answer of another kind. */
  answer(status: number, body: string, type = 'application/json'): this {
    this.#response.writeHead(status, { 'Content-Type': type }).end(body);
    return this;
  }

  json(value: unknown): this {
    return this.answer(200, JSON.stringify(value));
  }
}

/** What waits for a request, and requests that wait for someone. */
class Queue {
  readonly #come: Received[] = [];
  readonly #wanted: Deferred<Received>[] = [];

  push(received: Received): void {
    const wanted = this.#wanted.shift();
    if (wanted) wanted.resolve(received);
    else this.#come.push(received);
  }

  next(): Promise<Received> {
    const come = this.#come.shift();
    if (come) return Promise.resolve(come);
    const wanted = deferred<Received>();
    this.#wanted.push(wanted);
    return wanted.promise;
  }
}

export class FakeSprites {
  /** What the list answers with. */
  readonly checkpoints: Listed[] = [];
  /** How many times the list was asked for. */
  lists = 0;
  /** Answers a request for a checkpoint. Default: it waits for `create()`. */
  onCreate: (received: Received) => void = (received) => this.#creates.push(received);
  /** Answers a request for the list. Default: the checkpoints. */
  onList: (received: Received) => void = (received) => received.json(this.checkpoints);
  readonly #creates = new Queue();
  readonly #server: Server;
  readonly #url: string;

  private constructor(server: Server) {
    this.#server = server;
    this.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => this.#receive(request, response));
  }

  static async start(): Promise<FakeSprites> {
    const server = createServer();
    const listening = deferred();
    server.listen(0, '127.0.0.1', listening.resolve);
    await listening.promise;
    return new FakeSprites(server);
  }

  /** A Sprite of the real SDK. */
  sprite(name = 'box'): Sprite {
    return new SpritesClient(TOKEN, { baseURL: this.#url }).sprite(name);
  }

  /** A Sprite of the SDK 0.0.1. */
  oldSprite(name = 'box') {
    return new OldClient(TOKEN, { baseURL: this.#url }).sprite(name);
  }

  /** The next request for a checkpoint, once it has come in. */
  create(): Promise<Received> {
    return this.#creates.next();
  }

  /** Puts a checkpoint into the list: v1, v2, … a minute apart. */
  add(comment: string, fields: Partial<Listed> = {}): Listed {
    const number = this.checkpoints.length + 1;
    const create_time = new Date(Date.UTC(2026, 0, 5, 10, number)).toISOString();
    const listed = { id: `v${number}`, create_time, comment, ...fields };
    this.checkpoints.push(listed);
    return listed;
  }

  async stop(): Promise<void> {
    const stopped = deferred();
    this.#server.close(() => stopped.resolve());
    this.#server.closeAllConnections();
    await stopped.promise;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const found = /^\/v1\/sprites\/([^/]+)\/(checkpoint|checkpoints)$/.exec(request.url ?? '');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const comment = body === '' ? '' : String(JSON.parse(body).comment ?? '');
    const received = new Received(response, decodeURIComponent(found?.[1] ?? ''), comment);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      received.answer(401, 'no token');
    } else if (found?.[2] === 'checkpoint' && request.method === 'POST') {
      this.onCreate(received);
    } else if (found?.[2] === 'checkpoints' && request.method === 'GET') {
      this.lists += 1;
      this.onList(received);
    } else {
      received.answer(404, 'no such path');
    }
  }
}

/** The messages of a checkpoint that succeeds. */
export const INFO = { type: 'info', data: 'Saving filesystem state...', time: '2026-01-05T10:30:00Z' };
export const COMPLETE = { type: 'complete', data: 'Checkpoint created', time: '2026-01-05T10:30:00Z' };
