package sortie

var (
	paymentType    = keccak256([]byte("Payment(uint24 slot,address recipient,bytes32 submissionKey)"))
	settlementType = keccak256([]byte("Settlement(bytes32 missionKey,Payment[] payments)Payment(uint24 slot,address recipient,bytes32 submissionKey)"))
	closeType      = keccak256([]byte("Close(bytes32 missionKey,uint256 paidCount)"))

	settleSelector = selector("settle(bytes32,(uint24,address,bytes32)[],bytes)")
	closeSelector  = selector("close(bytes32,uint256,bytes)")
)

// Payment pays one slot of a mission. The contract pays a slot at most once.
type Payment struct {
	Slot          uint32  `json:"slot"` // below the mission's target count
	Recipient     Address `json:"recipient"`
	SubmissionKey Hash    `json:"submissionKey"`
}

// Settlement pays slots of one mission. Any account may send it with the settler's signature. A
// settlement of a single payment is a contributor's receipt.
type Settlement struct {
	MissionKey Hash      `json:"missionKey"`
	Payments   []Payment `json:"payments"`
}

// Digest is what the settler signs, under the domain with this separator.
func (s Settlement) Digest(separator Hash) Hash {
	hashes := make([]byte, 0, len(s.Payments)*wordSize)
	var buffer [4 * wordSize]byte
	for _, payment := range s.Payments {
		encoded := payment.appendTo(append(buffer[:0], paymentType[:]...))
		hash := keccak256(encoded)
		hashes = append(hashes, hash[:]...)
	}
	payments := keccak256(hashes)
	return typedDigest(separator, keccak256(settlementType[:], s.MissionKey[:], payments[:]))
}

// Calldata is the input of settle(missionKey, payments, signature).
func (s Settlement) Calldata(signature []byte) Bytes {
	const paymentSize = 3 * wordSize
	paymentsSize := wordSize + len(s.Payments)*paymentSize
	data := make([]byte, 0, 4+4*wordSize+paymentsSize+padded(len(signature)))
	data = append(data, settleSelector[:]...)
	data = append(data, s.MissionKey[:]...)
	data = appendUint64(data, 3*wordSize)
	data = appendUint64(data, uint64(3*wordSize+paymentsSize))
	data = appendUint64(data, uint64(len(s.Payments)))
	for _, payment := range s.Payments {
		data = payment.appendTo(data)
	}
	return appendBytes(data, signature)
}

func (p Payment) appendTo(dst []byte) []byte {
	dst = appendUint64(dst, uint64(p.Slot))
	dst = appendAddress(dst, p.Recipient)
	return append(dst, p.SubmissionKey[:]...)
}

// Close closes a mission with this many slots paid and refunds the rest to its creator. Any account
// may send it with the settler's signature.
type Close struct {
	MissionKey Hash   `json:"missionKey"`
	PaidCount  uint64 `json:"paidCount"`
}

// Digest is what the settler signs, under the domain with this separator.
func (c Close) Digest(separator Hash) Hash {
	var buffer [3 * wordSize]byte
	encoded := append(append(buffer[:0], closeType[:]...), c.MissionKey[:]...)
	return typedDigest(separator, keccak256(appendUint64(encoded, c.PaidCount)))
}

// Calldata is the input of close(missionKey, paidCount, signature).
func (c Close) Calldata(signature []byte) Bytes {
	data := make([]byte, 0, 4+4*wordSize+padded(len(signature)))
	data = append(append(data, closeSelector[:]...), c.MissionKey[:]...)
	data = appendUint64(data, c.PaidCount)
	data = appendUint64(data, 3*wordSize)
	return appendBytes(data, signature)
}
