// A creator's program with the documents and viem alone: sign requests, create a draft, check the quote by hand,
// fund it on chain. Run with the ready file of `sortie dev` and the vectors: node first-mission.mjs READY VECTORS
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { decodeFunctionData, encodeFunctionData, hashMessage, hashTypedData, keccak256, parseUnits, recoverTypedDataAddress, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { factoryAbi, fund, ready, requestText, send, sha256, wallet } from './service.mjs'

const vectors = JSON.parse(readFileSync(process.argv[3]))

const types = {
  MissionAuthorization: [
    { name: 'missionId', type: 'string' }, { name: 'token', type: 'address' }, { name: 'rewardPerSubmission', type: 'uint256' },
    { name: 'targetCount', type: 'uint256' }, { name: 'creator', type: 'address' }, { name: 'nonce', type: 'bytes32' },
    { name: 'deadline', type: 'uint256' },
  ],
  Payment: [{ name: 'slot', type: 'uint24' }, { name: 'recipient', type: 'address' }, { name: 'submissionKey', type: 'bytes32' }],
  Settlement: [{ name: 'missionKey', type: 'bytes32' }, { name: 'payments', type: 'Payment[]' }],
  Close: [{ name: 'missionKey', type: 'bytes32' }, { name: 'paidCount', type: 'uint256' }],
}

async function checkVectors() {
  const creator = privateKeyToAccount(vectors.keys.creator.privateKey)
  const service = privateKeyToAccount(vectors.keys.service.privateKey)
  for (const request of vectors.requests) {
    assert.equal(sha256(request.body), request.bodySha256, request.name)
    assert.equal(requestText(request), request.text, request.name)
    assert.equal(hashMessage(request.text), request.digest, request.name)
    assert.equal(await creator.signMessage({ message: request.text }), request.signature, request.name)
  }
  const { domain, authorization, settlement, close } = vectors
  const signed = async (primaryType, message, want) => {
    assert.equal(hashTypedData({ domain, types, primaryType, message }), want.digest, primaryType)
    assert.equal(await service.signTypedData({ domain, types, primaryType, message }), want.signature, primaryType)
  }
  assert.equal(keccak256(toHex(authorization.message.missionId)), authorization.missionKey)
  await signed('MissionAuthorization', authorization.message, authorization)
  await signed('Settlement', { missionKey: settlement.missionKey, payments: settlement.payments }, settlement)
  await signed('Close', close.message, close)
  assert.equal(encodeFunctionData({ abi: factoryAbi, args: [authorization.message, authorization.signature] }), authorization.calldata)
}

// Compares everything in the quote with the terms and the pinned values.
async function verifyQuote(quote, asked) {
  const { args: [sent, signature], functionName } = decodeFunctionData({ abi: factoryAbi, data: quote.calldata })
  assert.equal(functionName, 'createAuthorizedFundedMission')
  assert.equal(encodeFunctionData({ abi: factoryAbi, args: [sent, signature] }), quote.calldata)
  assert.equal(quote.chainId, ready.chainId)
  assert.equal(quote.factoryAddress, ready.factoryAddress)
  assert.deepEqual(sent, {
    missionId: asked.missionId, token: ready.tokens[asked.token].address, rewardPerSubmission: parseUnits(asked.amount, ready.tokens[asked.token].decimals),
    targetCount: BigInt(asked.targetCount), creator: asked.creator, nonce: quote.authorization.nonce, deadline: BigInt(quote.authorization.deadline),
  })
  assert.equal(BigInt(quote.totalBudgetBaseUnits), sent.rewardPerSubmission * sent.targetCount)
  assert.ok(quote.authorization.deadline * 1000 > Date.now())
  assert.equal(quote.authorization.expiresAt, new Date(quote.authorization.deadline * 1000).toISOString())
  const domain = { name: 'MissionFactory', version: '1', chainId: ready.chainId, verifyingContract: ready.factoryAddress }
  assert.equal(await recoverTypedDataAddress({ domain, types, primaryType: 'MissionAuthorization', message: sent, signature }), ready.authorizer)
}

await checkVectors()

const creator = wallet('creator')
const mission = { title: 'Photo of the main entrance', reward: { token: 'USDC', amount: '2.5' }, targetCount: 4 }
const key = randomUUID()
const created = await send(creator, 'POST', '/api/external/missions/drafts', { key, body: JSON.stringify(mission) })
assert.equal(created.status, 201, JSON.stringify(created.body))
const asked = { missionId: created.body.missionId, creator: creator.address, token: 'USDC', amount: '2.5', targetCount: 4 }
await verifyQuote(created.body.fundingQuote, asked)

const again = await send(creator, 'POST', '/api/external/missions/drafts', { key, body: JSON.stringify({ targetCount: 4.0, ...mission }) })
assert.equal(again.status, 200)
assert.equal(again.headers.get('idempotent-replayed'), 'true')
assert.equal(again.body.draftId, created.body.draftId)

const conflict = await send(creator, 'POST', '/api/external/missions/drafts', { key, body: JSON.stringify({ ...mission, targetCount: 5 }) })
assert.equal(conflict.status, 409)
assert.equal(conflict.body.error.code, 'idempotency_conflict')
assert.deepEqual(conflict.body.error.details, { draftId: created.body.draftId, fields: ['targetCount'] })

const refused = await send(creator, 'GET', '/api/external/missions', { tamper: (text) => text + ' ' })
assert.equal(refused.status, 401)
assert.equal(refused.body.error.code, 'invalid_signature')
assert.equal(refused.body.error.details.signedMessage, refused.text)

const [funded] = await fund(creator, created.body.fundingQuote).then((events) => events.filter((event) => event.eventName === 'MissionFunded'))
assert.equal(funded.args.missionId, created.body.missionId)
assert.equal(funded.args.creator, creator.address)
assert.equal(funded.args.nonce, created.body.fundingQuote.authorization.nonce)

const status = await send(creator, 'GET', `/api/external/missions/${created.body.missionId}`)
assert.equal(status.status, 200)
assert.equal(status.body.draftId, created.body.draftId)
const foreign = await send(wallet('creator2'), 'GET', `/api/external/missions/${created.body.missionId}`)
assert.equal(foreign.status, 404)
const list = await send(creator, 'GET', '/api/external/missions?status=pending_funding&limit=10')
assert.ok(list.body.drafts.some((draft) => draft.draftId === created.body.draftId))

console.log(`funded ${created.body.missionId}`)
