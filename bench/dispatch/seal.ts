import { createSigner } from '/tmp/wt/src/webhooks/signature.ts';
const s = createSigner('whsec_'+Buffer.alloc(32,5).toString('base64')); const body=JSON.stringify({a:'x'.repeat(900)});
for(let k=0;k<4;k++){ const c=process.cpuUsage(); for(let i=0;i<100000;i++) s.seal({id:'dlv_123456789012345678901234',body},1700000000); const d=process.cpuUsage(c); console.log(((d.user+d.system)/100000).toFixed(2),'us'); }
