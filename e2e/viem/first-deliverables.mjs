// A program of a creator and contributors with the documents, viem and tus-js-client alone: a mission is
// funded and reviewed, photos are uploaded in every possible way, and the creator fetches them.
// Run with the ready file of `sortie dev` and three different photos: node first-deliverables.mjs READY PHOTO PHOTO PHOTO
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Upload } from 'tus-js-client'
import { keccak256, toHex } from 'viem'
import { fund, ready, send, wallet } from './service.mjs'

const place = { lat: 48.85837, lng: 2.29448 }
const photos = process.argv.slice(3).map((path) => {
  const bytes = readFileSync(path)
  return { bytes, contentType: path.endsWith('.png') ? 'image/png' : 'image/jpeg', sha256: createHash('sha256').update(bytes).digest('hex') }
})

// Asks until the answer is the wanted one. The test that runs this program has a time limit.
async function until(ask, isWanted) {
  for (;;) {
    const answer = await ask()
    if (isWanted(answer)) return answer
    await pause(50)
  }
}

async function answered(status, promise) {
  const answer = await promise
  assert.equal(answer.status, status, JSON.stringify(answer.body))
  return answer.body
}

async function publish(creator, mission) {
  const draft = await answered(201, send(creator, 'POST', '/api/external/missions/drafts', { key: randomUUID(), body: JSON.stringify(mission) }))
  await fund(creator, draft.fundingQuote)
  const early = await answered(409, send(creator, 'GET', `/api/external/missions/${draft.draftId}/deliverables`))
  assert.equal(early.error.code, 'mission_not_published')
  const approval = () => send(wallet('operator'), 'POST', `/api/operator/missions/${draft.draftId}/approve`)
  await answered(200, until(approval, ({ body }) => body.error?.code !== 'wrong_state'))
  await until(() => send(creator, 'GET', `/api/external/missions/${draft.draftId}`), ({ body }) => body.published)
  return draft
}

async function declare(contributor, missionId, photo) {
  const declaration = {
    location: { ...place, accuracyMeters: 8.5 }, capturedAt: new Date().toISOString(), contentType: photo.contentType,
    sizeBytes: photo.bytes.length, sha256: photo.sha256,
  }
  const request = { key: randomUUID(), body: JSON.stringify(declaration) }
  const declared = await answered(201, send(contributor, 'POST', `/api/missions/${missionId}/submissions`, request))
  assert.deepEqual(Object.keys(declared), ['ok', 'submissionId', 'status', 'slotReservedUntil', 'upload'])
  assert.equal(declared.status, 'pending')
  const again = await answered(200, send(contributor, 'POST', `/api/missions/${missionId}/submissions`, request))
  assert.equal(again.submissionId, declared.submissionId)
  return declared
}

// tus sends a photo with the client that web pages and apps use.
const tus = (photo, options) => new Promise((resolve, reject) => {
  let requests = 0
  new Upload(photo.bytes, {
    retryDelays: null, ...options, onError: reject, onSuccess: () => resolve(requests), onAfterResponse: () => { requests++ },
  }).start()
})

const ways = [
  async (photo, { putUrl }) => {
    const response = await fetch(putUrl, { method: 'PUT', body: photo.bytes })
    assert.equal(response.status, 200, await response.clone().text())
    assert.equal((await response.json()).submission.status, 'pending')
  },
  async (photo, { tusUrl }) => assert.equal(await tus(photo, { endpoint: tusUrl }), 2), // POST, PATCH
  async (photo, { tusUrl }) => { // HEAD, and a PATCH for each third
    assert.equal(await tus(photo, { uploadUrl: tusUrl, chunkSize: Math.ceil(photo.bytes.length / 3) }), 4)
    assert.equal(await tus(photo, { uploadUrl: tusUrl }), 1) // a second run finds everything there
  },
]

// The members of the interface, in its order, and nothing else.
function checkShape(page) {
  assert.deepEqual(Object.keys(page), ['ok', 'mission', 'summary', 'submissions'])
  assert.deepEqual(Object.keys(page.mission), ['missionId', 'draftId', 'title', 'mediaType', 'reward', 'targetCount'])
  assert.deepEqual(Object.keys(page.summary), ['acceptedSubmissions', 'returnedSubmissions', 'nextCursor', 'generatedAt'])
  const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, spaced = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/
  assert.match(page.summary.generatedAt, iso)
  for (const one of page.submissions) {
    assert.deepEqual(Object.keys(one), [
      'submissionId', 'mediaType', 'mediaUrl', 'mediaUrlExpiresAt', 'thumbnailUrl', 'createdAt', 'verifiedAt', 'location', 'verification', 'media', 'provenance',
    ])
    assert.match(one.mediaUrlExpiresAt, iso)
    assert.match(one.createdAt, spaced)
    assert.match(one.verifiedAt, spaced)
    assert.deepEqual(one.location, { ...place, accuracyMeters: 8.5 })
    assert.deepEqual(Object.keys(one.verification), ['status', 'score', 'reason'])
    assert.equal(one.verification.status, 'accepted')
    assert.equal(one.verification.score, 100)
    assert.deepEqual(Object.keys(one.media), ['hash', 'durationMs', 'keyframeCount', 'contentType'])
    assert.deepEqual([one.media.durationMs, one.media.keyframeCount], [null, null])
    assert.deepEqual(one.provenance, { source: 'service_submission', missionId: page.mission.missionId, submissionId: one.submissionId })
  }
}

const get = async (url, headers = {}, method = 'GET') => {
  const response = await fetch(url, { method, headers, redirect: 'error' })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

async function checkLink(link, media) {
  const whole = await get(link)
  assert.equal(whole.status, 200)
  assert.equal('sha256:' + createHash('sha256').update(whole.bytes).digest('hex'), media.hash)
  assert.equal(whole.headers.get('content-type'), media.contentType)
  assert.equal(whole.headers.get('x-content-type-options'), 'nosniff')
  const head = await get(link, {}, 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-length'), head.bytes.length], [200, String(whole.bytes.length), 0])
  const part = await get(link, { Range: 'bytes=10-1009' })
  assert.equal(part.status, 206)
  assert.equal(part.headers.get('content-range'), `bytes 10-1009/${whole.bytes.length}`)
  assert.deepEqual(part.bytes, whole.bytes.subarray(10, 1010))
  assert.equal((await get(link, { Range: `bytes=${whole.bytes.length}-` })).status, 416)
  assert.equal((await get(link, { 'If-None-Match': whole.headers.get('etag') })).status, 304)
  for (const [from, to] of [[/exp=(\d+)/, (_, at) => `exp=${Number(at) + 1}`], [/sig=(.)/, (_, first) => `sig=${first === 'A' ? 'B' : 'A'}`], ['/original', '/thumbnail']]) {
    const altered = await get(link.replace(from, to))
    assert.equal(altered.status, 403)
    assert.equal(JSON.parse(altered.bytes).error.code, 'media_url_invalid')
  }
}

const creator = wallet('creator')
const draft = await publish(creator, {
  title: 'The tower from the river', reward: { token: 'USDC', amount: 2.5 }, targetCount: photos.length, location: { ...place, radiusMeters: 200 },
})
const feed = await (await fetch(`${ready.baseUrl}/api/missions?near=${place.lat},${place.lng}&mediaType=photo`)).json()
assert.deepEqual(feed.missions.map((one) => [one.missionId, one.slotsLeft, one.open]), [[draft.missionId, photos.length, true]])

const submitted = []
for (const [i, photo] of photos.entries()) {
  const contributor = wallet(`contributor${i + 1}`)
  const { submissionId, upload } = await declare(contributor, draft.missionId, photo)
  await ways[i](photo, upload)
  const own = () => send(contributor, 'GET', `/api/submissions/${submissionId}`)
  const { body: { submission } } = await until(own, ({ body }) => body.submission.status !== 'pending')
  assert.equal(submission.status, 'accepted', JSON.stringify(submission))
  assert.ok(submission.checks.length > 0 && submission.checks.every((check) => check.passed && check.reason))
  submitted.push({ submissionId, own, contributor })
}
const late = await answered(409, send(wallet('creator2'), 'POST', `/api/missions/${draft.missionId}/submissions`, {
  key: randomUUID(), body: JSON.stringify({ location: { ...place, accuracyMeters: 5 }, capturedAt: new Date().toISOString(), contentType: 'image/jpeg', sizeBytes: 1, sha256: '0'.repeat(64) }),
}))
assert.equal(late.error.code, 'mission_full')

const path = `/api/external/missions/${draft.missionId}/deliverables?limit=2&mediaUrlTtlSeconds=60`
const first = await answered(200, send(creator, 'GET', path))
const second = await answered(200, send(creator, 'GET', `${path}&cursor=${encodeURIComponent(first.summary.nextCursor)}`))
assert.deepEqual(first.mission, {
  missionId: draft.missionId, draftId: draft.draftId, title: 'The tower from the river', mediaType: 'photo', reward: { token: 'USDC', amount: 2.5 }, targetCount: 3,
})
assert.deepEqual([first, second].map((page) => page.summary.returnedSubmissions), [2, 1])
assert.deepEqual([first, second].map((page) => page.summary.acceptedSubmissions), [3, 3])
assert.equal(second.summary.nextCursor, null)
const delivered = [...first.submissions, ...second.submissions]
assert.deepEqual(delivered.map((one) => one.submissionId), submitted.map((one) => one.submissionId))
for (const page of [first, second]) checkShape(page)
for (const [i, one] of delivered.entries()) {
  assert.equal(one.media.contentType, photos[i].contentType)
  assert.ok(Date.parse(one.mediaUrlExpiresAt) <= Date.now() + 61_000)
  await checkLink(one.mediaUrl, one.media)
  const thumbnail = await get(one.thumbnailUrl)
  assert.deepEqual([thumbnail.status, thumbnail.headers.get('content-type')], [200, 'image/jpeg'])
}
const foreign = await answered(404, send(wallet('creator2'), 'GET', path))
assert.equal(foreign.error.code, 'not_found')

// Every acceptance is final at once here: each took a slot, and its contributor holds the receipt for it.
const slots = new Set()
for (const { submissionId, own, contributor } of submitted) {
  const { body: { submission } } = await until(own, ({ body }) => body.submission.receipt)
  const { missionKey, payments: [payment, ...more] } = submission.receipt
  assert.equal(missionKey, keccak256(toHex(draft.missionId)))
  assert.deepEqual([payment.recipient, payment.submissionKey, more], [contributor.address, keccak256(toHex(submissionId)), []])
  assert.equal(submission.payout.amountBaseUnits, '2500000')
  slots.add(payment.slot)
}
assert.deepEqual([...slots].sort(), [0, 1, 2])

console.log(`delivered ${delivered.length} submissions of ${draft.missionId}`)
