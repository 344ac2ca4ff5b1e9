// Package setting names the settings of the program. A package reports a wrong setting by its name.
// The command line prints the flag instead, because only it knows the flags.
package setting

// Name is the name of a setting.
type Name string

// Settings whose values are checked by the packages that use them.
const (
	Authorizer       Name = "authorizer"
	CapServiceToken  Name = "cap of the service token"
	CapUSDC          Name = "cap of USDC"
	ChainID          Name = "chain id"
	ChainListen      Name = "listen address of the chain"
	Database         Name = "database"
	Factory          Name = "factory"
	Listen           Name = "listen address"
	Media            Name = "media store"
	MediaIsolation   Name = "media isolation"
	OperationsListen Name = "operations listen address"
	PublicURL        Name = "public URL"
	RPC              Name = "RPC URL"
	ServiceToken     Name = "service token"
	Settler          Name = "settler"
	Uploads          Name = "uploads directory"
	USDC             Name = "USDC"
)

// Error reports a wrong setting.
type Error struct {
	Name  Name
	Value string // empty: not shown
	Err   error
}

// Error returns the name, the value and the reason.
func (e *Error) Error() string { return e.Text(string(e.Name)) }

// Text returns the error with another name of the setting.
func (e *Error) Text(name string) string {
	if e.Value != "" {
		name += " " + e.Value
	}
	return name + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
