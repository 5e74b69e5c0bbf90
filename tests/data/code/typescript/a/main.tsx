import { Service } from './service';
async function main(s: Service) { const item = await s.load('1'); item.show(); }
