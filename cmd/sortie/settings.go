package main

import (
	"errors"

	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/setting"
)

// settingFlags maps settings that other packages check to their flags.
var settingFlags = map[setting.Name]string{
	setting.Authorizer: "authorizer", setting.CapServiceToken: "cap-service-token", setting.CapUSDC: "cap-usdc", setting.ChainID: "chain-id",
	setting.ChainListen: "chain-listen", setting.Database: "database", setting.Factory: "factory", setting.Listen: "listen", setting.Media: "media",
	setting.MediaIsolation: "media-isolation", setting.OperationsListen: "operations-listen", setting.PublicURL: "public-url", setting.RPC: "rpc",
	setting.ServiceToken: "service-token", setting.Settler: "settler", setting.Uploads: "uploads", setting.USDC: "usdc",
}

// flagError is an error about a flag.
type flagError struct {
	text string
	err  error
}

func (e *flagError) Error() string { return e.text }
func (e *flagError) Unwrap() error { return e.err }

// withFlag names the flag of a wrong setting.
func withFlag(err error) error {
	var wrong *setting.Error
	switch {
	case errors.As(err, &wrong) && settingFlags[wrong.Name] != "":
		return &flagError{wrong.Text("--" + settingFlags[wrong.Name]), err}
	case errors.Is(err, devnet.ErrReset):
		return &flagError{err.Error() + " (--reset)", err}
	}
	return err
}
