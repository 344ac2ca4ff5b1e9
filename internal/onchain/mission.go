package onchain

import (
	"math/big"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// Terms are what a draft promised, and what the contract must hold.
type Terms struct {
	DraftID     string
	MissionID   string
	Factory     sortie.Address
	Creator     sortie.Address
	Token       sortie.Address
	Reward      *big.Int // base units, for one submission
	TargetCount int
	Nonce       sortie.Hash
}

// Funding is where on the canonical chain a draft was funded.
type Funding struct {
	DraftID      string
	MissionKey   sortie.Hash
	ChainID      uint64
	Block        uint64
	BlockHash    sortie.Hash
	Transaction  sortie.Hash
	LogIndex     uint64
	ReclaimAfter uint64   // Unix seconds after which the creator may reclaim
	Closed       *Closing // nil while the mission is open
}

// Closing is where on the canonical chain a mission ended.
type Closing struct {
	Block          uint64
	BlockHash      sortie.Hash
	Transaction    sortie.Hash
	Reason         uint8 // as in [MissionClosed]
	Refund         *big.Int
	RefundDeferred bool
}

// Confirmation is the next depth that the chain may confirm for a funded draft.
type Confirmation struct {
	Terms
	Funding
	To     mission.Depth // confirmed or locked
	Refund bool          // confirms the closing instead
}

// ConfirmationPlace is where a page of [Confirmation] begins: after the last of the page before, in
// each of its lists. The zero value is the beginning.
type ConfirmationPlace struct{ Seen, Confirmed, Closed Place }

// Expected is what the chain should hold of a draft: its funding, or nothing.
type Expected struct {
	Terms
	Funding *Funding
}

// PassPage is the next part of a comparison of all unfunded drafts with the contract.
type PassPage struct {
	Pass        int64  // its number; 0: there is no pass
	Block       uint64 // the contract must be read as of this block or later
	After, Last int64  // the drafts of the page are after After, up to Last
	End         bool   // there are no drafts after the last
	Missions    []Expected
}

// Vault is a token in a factory.
type Vault struct {
	Factory, TokenAddress sortie.Address
	Token                 sortie.Token
}

// CreditHolder is an account that may have a credit in a vault.
type CreditHolder struct {
	Factory, TokenAddress, Account sortie.Address
	Empty                          bool // it had none when the contract was last read
}

// ContractMission is what a factory holds of a mission.
type ContractMission struct {
	Exists         bool
	Creator, Token sortie.Address
	Reward         *big.Int
	Target, Paid   uint64
	Closed         uint8 // 0: open, 1: closed by the service, 2: reclaimed by its creator
}

// MissionRef is where a mission is on the chain.
type MissionRef struct {
	Factory    sortie.Address
	MissionKey sortie.Hash
}
