import { Repo } from './repo';
export class Service {
  private cache = new Cache();
  constructor(private repo: Repo) {}
  async load(id: string): Promise<Item> { this.cache.get(id); return await this.repo.find(id); }
}
class Cache { get(id: string) {} }
export class Item { show() {} }
