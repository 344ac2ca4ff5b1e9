// Package funding is the service's half of the money protocol: the keys, and what they sign.
//
// It opens a key from a reference ([ParseKeyRef]: a keystore file, an external command, a
// development key), issues funding quotes ([Issuer]), signs settlements and closes ([Settler]) and
// signs transactions ([SignTransaction]). The bytes that are signed are those of package sortie,
// which a creator's program checks with the same code.
//
// Two rules hold for everything here. A signature leaves the package only after it was recovered to
// the address it should be from, whoever made it: a signer with the wrong key costs an error, never
// money. And a secret enters through a file or stays in another program: not through arguments, the
// environment, logs or error texts.
//
// The package refuses to know about drafts, databases and the chain: what to sign, and that it is
// signed once, is decided by its callers.
package funding
