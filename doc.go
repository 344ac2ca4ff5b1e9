// Package sortie is the protocol of Sortie and its Go SDK: paid missions for real-world photos and
// videos, with the money locked on chain before the work begins.
//
// It holds what a creator's program and the service must agree on to the byte: the text a wallet
// signs for every request ([Request]), the structs the mission factory contract verifies
// ([MissionAuthorization], [Settlement], [Close]) with their EIP-712 digests and calldata, the
// funding quote and the check a creator runs before sending money ([VerifyQuote]), exact token
// amounts ([ParseUnits]), the statuses and the error codes. The service is built from the same
// declarations, so the two sides cannot drift apart.
//
// The package depends on the standard library, a secp256k1 implementation and Keccak only. It reads
// no environment, no files and no clock.
package sortie
