let text = "";
for await (const piece of process.stdin.setEncoding("utf8")) text += piece;
const call = JSON.parse(text);
console.log(JSON.stringify(String(call.arguments.command).includes("rm -rf") ? { decision: "deny" } : {}));
