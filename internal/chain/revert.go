package chain

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ethereum/go-ethereum/rpc"
)

// Explain replaces an error of a node by the contract's own error, if the node returned it.
func Explain(err error) error {
	data := refusalData(err)
	if len(data) < 4 {
		return err
	}
	reason, decodeErr := factory.UnpackError(data)
	if decodeErr != nil || reason == nil {
		return err
	}
	name := reflect.Indirect(reflect.ValueOf(reason)).Type().Name() // MissionFactory and the name of the error
	return fmt.Errorf("the contract refused it: %s", strings.TrimPrefix(name, "MissionFactory"))
}

// refusalData is the data of a revert, nil if the node returned none. Every JSON-RPC error is an
// [rpc.DataError], also without data.
func refusalData(err error) []byte {
	var answered rpc.DataError
	if !errors.As(err, &answered) {
		return nil
	}
	text, _ := answered.ErrorData().(string)
	data, decodeErr := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if decodeErr != nil {
		return nil
	}
	return data
}
