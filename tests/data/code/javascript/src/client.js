export default class Client extends Base { chat() { this.send(); helper(); } send() {} }
class Base {}
export function helper() {}
