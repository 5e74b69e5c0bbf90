function run() {}
module.exports = { run };
