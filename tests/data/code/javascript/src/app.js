import Client, { helper as h } from './client';
import * as ns from './client.js';
const old = require('./old');
const go = (client) => client.chat();
function main() { const client = new Client(); client.chat(); h(); ns.helper(); old.run(); go(1); }
