package chain

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ethereum/go-ethereum/rpc"
)

// Explain says with the contract's own word why it refused a call, when the node passed that word
// on.
func Explain(err error) error {
	data := refusalData(err)
	if len(data) < 4 {
		return err
	}
	reason, decodeErr := factory.UnpackError(data)
	if decodeErr != nil || reason == nil {
		return err
	}
	name := reflect.Indirect(reflect.ValueOf(reason)).Type().Name() // the binding's type: MissionFactory and the error's name
	return fmt.Errorf("the contract refused it: %s", strings.TrimPrefix(name, "MissionFactory"))
}

// refusalData is what a contract answered when it refused a call, nil when a node passed nothing
// on. Every error that a node answers is an [rpc.DataError], also one without data.
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
