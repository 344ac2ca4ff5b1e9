package sortie

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"unicode/utf8"
)

// Limits of the mission factory contract.
const (
	MaxMissionIDLength = 64      // bytes
	MaxSlots           = 100_000 // submissions a mission can pay
	MaxRewardBits      = 96      // the reward of one submission fits uint96
	SignatureLength    = 65      // r, s, v with v 27 or 28
)

// FunctionCreateMission is the contract function that funds a mission.
const FunctionCreateMission = "createAuthorizedFundedMission"

// Domain is the EIP-712 domain of the service's signatures: one factory contract on one chain.
type Domain struct {
	ChainID uint64
	Factory Address
}

// IsDevelopmentChain reports whether a chain id is that of a development chain, whose keys are
// public and whose blocks can jump in time.
func IsDevelopmentChain(chainID uint64) bool { return chainID == 1337 || chainID == 31337 }

// Separator is the EIP-712 domain separator. It computes a hash: keep it when signing more than
// once.
func (d Domain) Separator() Hash {
	encoded := make([]byte, 0, 5*wordSize)
	encoded = append(encoded, domainType[:]...)
	encoded = append(encoded, domainName[:]...)
	encoded = append(encoded, domainVersion[:]...)
	encoded = appendUint64(encoded, d.ChainID)
	encoded = appendAddress(encoded, d.Factory)
	return keccak256(encoded)
}

var (
	domainType    = keccak256([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"))
	domainName    = keccak256([]byte("MissionFactory"))
	domainVersion = keccak256([]byte("1"))

	authorizationType = keccak256([]byte("MissionAuthorization(string missionId,address token,uint256 rewardPerSubmission,uint256 targetCount,address creator,bytes32 nonce,uint256 deadline)"))
	createSelector    = selector(FunctionCreateMission + "((string,address,uint256,uint256,address,bytes32,uint256),bytes)")
)

func selector(signature string) [4]byte {
	sum := keccak256([]byte(signature))
	return [4]byte(sum[:])
}

// typedDigest is the EIP-712 digest of a struct.
func typedDigest(separator, structHash Hash) Hash {
	return keccak256([]byte{0x19, 0x01}, separator[:], structHash[:])
}

// MissionAuthorization permits Creator to fund one mission on these terms until the deadline. The
// contract accepts it once.
type MissionAuthorization struct {
	MissionID           string
	Token               Address
	RewardPerSubmission *big.Int // base units
	TargetCount         uint64
	Creator             Address
	Nonce               Hash
	Deadline            uint64 // Unix seconds
}

// MissionKey is the contract's key of a mission: the hash of its id.
func MissionKey(missionID string) Hash { return keccak256([]byte(missionID)) }

// SubmissionKey is the contract's key of a submission: the hash of its id.
func SubmissionKey(submissionID string) Hash { return keccak256([]byte(submissionID)) }

// Validate returns an error for terms that the contract refuses with any signature.
func (a MissionAuthorization) Validate() error {
	switch {
	case a.MissionID == "" || len(a.MissionID) > MaxMissionIDLength || !utf8.ValidString(a.MissionID):
		return fmt.Errorf("mission id: want 1-%d bytes of UTF-8", MaxMissionIDLength)
	case a.Token.IsZero():
		return errors.New("token: the zero address is no token")
	case a.RewardPerSubmission == nil || a.RewardPerSubmission.Sign() <= 0 || a.RewardPerSubmission.BitLen() > MaxRewardBits:
		return fmt.Errorf("reward: want a positive number of base units of at most %d bits", MaxRewardBits)
	case a.TargetCount < 1 || a.TargetCount > MaxSlots:
		return fmt.Errorf("target count: want 1-%d", MaxSlots)
	case a.Creator.IsZero():
		return errors.New("creator: the zero address cannot fund")
	}
	return nil
}

// TotalBudget is the amount that funding locks, in base units.
func (a MissionAuthorization) TotalBudget() *big.Int {
	if a.RewardPerSubmission == nil {
		return new(big.Int)
	}
	return new(big.Int).Mul(a.RewardPerSubmission, new(big.Int).SetUint64(a.TargetCount))
}

// Digest is the hash that the authorizer signs, under the domain with this separator. The
// authorization must pass Validate.
func (a MissionAuthorization) Digest(separator Hash) Hash {
	missionKey := MissionKey(a.MissionID)
	var buffer [8 * wordSize]byte
	encoded := append(buffer[:0], authorizationType[:]...)
	encoded = append(encoded, missionKey[:]...)
	encoded = appendAddress(encoded, a.Token)
	encoded = appendUint(encoded, a.RewardPerSubmission)
	encoded = appendUint64(encoded, a.TargetCount)
	encoded = appendAddress(encoded, a.Creator)
	encoded = append(encoded, a.Nonce[:]...)
	encoded = appendUint64(encoded, a.Deadline)
	return typedDigest(separator, keccak256(encoded))
}

const authorizationHead = 7 * wordSize

// Calldata is the input of createAuthorizedFundedMission(authorization, signature).
func (a MissionAuthorization) Calldata(signature []byte) Bytes {
	structSize := authorizationHead + wordSize + padded(len(a.MissionID))
	data := make([]byte, 0, 4+3*wordSize+structSize+padded(len(signature)))
	data = append(data, createSelector[:]...)
	data = appendUint64(data, 2*wordSize)
	data = appendUint64(data, uint64(2*wordSize+structSize))
	data = appendUint64(data, authorizationHead)
	data = appendAddress(data, a.Token)
	data = appendUint(data, a.RewardPerSubmission)
	data = appendUint64(data, a.TargetCount)
	data = appendAddress(data, a.Creator)
	data = append(data, a.Nonce[:]...)
	data = appendUint64(data, a.Deadline)
	data = appendBytes(data, a.MissionID)
	return appendBytes(data, signature)
}

var errCalldata = errors.New("calldata: not a canonical call of " + FunctionCreateMission)

// DecodeCalldata reads the input of createAuthorizedFundedMission. It accepts only what
// [MissionAuthorization.Calldata] writes. An encoding with other offsets, nonzero padding or
// trailing bytes is refused, because two decoders could read it differently.
func DecodeCalldata(data []byte) (a MissionAuthorization, signature []byte, err error) {
	const longest = 4 + 4*wordSize + authorizationHead + MaxMissionIDLength + 3*wordSize
	if len(data) < 4 || len(data) > longest || [4]byte(data) != createSelector {
		return MissionAuthorization{}, nil, errCalldata
	}
	w := words{data: data[4:]}
	w.next() // the offsets are checked by encoding again
	w.next()
	w.next()
	a.Token = w.address()
	a.RewardPerSubmission = w.uint()
	a.TargetCount = w.uint64()
	a.Creator = w.address()
	a.Nonce = w.next()
	a.Deadline = w.uint64()
	a.MissionID = string(w.bytes(MaxMissionIDLength))
	signature = bytes.Clone(w.bytes(SignatureLength))
	if w.bad || !bytes.Equal(a.Calldata(signature), data) {
		return MissionAuthorization{}, nil, errCalldata
	}
	return a, signature, nil
}
