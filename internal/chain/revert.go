package chain

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ethereum/go-ethereum/rpc"
)

// explain says with the contract's own word why it refused a call, when the node passed that word on.
func explain(err error) error {
	var reverted rpc.DataError
	if !errors.As(err, &reverted) {
		return err
	}
	text, _ := reverted.ErrorData().(string)
	data, decodeErr := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if decodeErr != nil || len(data) < 4 {
		return err
	}
	reason, decodeErr := factory.UnpackError(data)
	if decodeErr != nil || reason == nil {
		return err
	}
	name := reflect.Indirect(reflect.ValueOf(reason)).Type().Name() // the binding's type: MissionFactory and the error's name
	return fmt.Errorf("the contract refused it: %s", strings.TrimPrefix(name, "MissionFactory"))
}
