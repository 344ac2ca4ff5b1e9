package funding

import (
	"context"

	"github.com/sortie-labs/sortie"
)

// SignMessage signs a message with the EIP-191 prefix. The signer sees the whole message.
//
// It fails with a *SignError when the signer returned no usable signature.
func SignMessage(ctx context.Context, signer Signer, message []byte) (sortie.Bytes, error) {
	return check(signer).Sign(ctx, SignRequest{
		Purpose: PurposeMessage,
		Digest:  sortie.MessageDigest(message),
		Content: lazyJSON(func() any {
			return struct {
				Message string `json:"message"`
			}{string(message)}
		}),
	})
}
