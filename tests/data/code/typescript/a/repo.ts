import type { Item } from './service';
export interface Repo { find(id: string): Item }
