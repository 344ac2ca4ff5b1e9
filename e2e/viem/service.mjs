// How to talk to the service and its chain with viem, from the documents alone: signed requests, and the transaction that funds a mission.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createPublicClient, createWalletClient, http, parseAbi, parseEventLogs } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

// The ready file of `sortie dev` is the first argument of every program here.
export const ready = JSON.parse(readFileSync(process.argv[2]))

export const wallet = (role) => privateKeyToAccount(ready.wallets.find((one) => one.role === role).privateKey)

export const factoryAbi = parseAbi([
  'struct MissionAuthorization { string missionId; address token; uint256 rewardPerSubmission; uint256 targetCount; address creator; bytes32 nonce; uint256 deadline; }',
  'function createAuthorizedFundedMission(MissionAuthorization authorization, bytes signature) returns (bytes32 missionKey)',
  'event MissionFunded(bytes32 indexed missionKey, address indexed creator, address indexed token, string missionId, uint256 rewardPerSubmission, uint256 targetCount, bytes32 nonce, uint256 reclaimAfter)',
])
const tokenAbi = parseAbi(['function approve(address spender, uint256 amount) returns (bool)'])

export const requestText = ({ method, url, idempotencyKey, bodySha256, wallet, timestamp }) => [
  'Service external API request v1', `method:${method}`, `url:${url}`, `idempotency-key:${idempotencyKey}`,
  `body-sha256:${bodySha256}`, `wallet:${wallet}`, `timestamp:${timestamp}`,
].join('\n')

export const sha256 = (body) => (body === '' ? '' : createHash('sha256').update(body).digest('hex'))

export async function send(account, method, path, { key = '', body = '', tamper = (text) => text } = {}) {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const url = ready.baseUrl + path
  const text = requestText({ method, url, idempotencyKey: key, bodySha256: sha256(body), wallet: account.address, timestamp })
  const headers = {
    'X-Service-Wallet': account.address, 'X-Service-Timestamp': timestamp,
    'X-Service-Signature': await account.signMessage({ message: tamper(text) }),
  }
  if (key) headers['Idempotency-Key'] = key
  if (body) headers['Content-Type'] = 'application/json'
  const response = await fetch(url, { method, headers, body: body || undefined, redirect: 'error' })
  return { status: response.status, headers: response.headers, body: await response.json(), text }
}

// Approves the budget, then sends the calldata unchanged. Returns the factory's events.
export async function fund(account, quote) {
  const chain = { id: ready.chainId, name: 'dev', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [ready.rpcUrl] } } }
  const transport = http(ready.rpcUrl)
  const reader = createPublicClient({ chain, transport, pollingInterval: 100 })
  const sender = createWalletClient({ account, chain, transport })
  const approval = await sender.writeContract({
    address: quote.tokenAddress, abi: tokenAbi, functionName: 'approve', args: [quote.factoryAddress, BigInt(quote.totalBudgetBaseUnits)],
  })
  await reader.waitForTransactionReceipt({ hash: approval })
  const hash = await sender.sendTransaction({ to: quote.factoryAddress, data: quote.calldata })
  const receipt = await reader.waitForTransactionReceipt({ hash })
  assert.equal(receipt.status, 'success')
  return parseEventLogs({ abi: factoryAbi, logs: receipt.logs })
}
