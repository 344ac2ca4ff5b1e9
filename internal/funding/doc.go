// Package funding is the service's half of the money protocol: the keys, and what they sign.
//
// It opens a key from a reference ([ParseKeyRef]: a keystore file, an external command, a
// development key), issues funding quotes ([Issuer]), signs settlements and closes ([Settler]) and
// signs transactions ([SignTransaction]). The bytes that are signed are those of package sortie,
// which a creator's program checks with the same code.
//
// Two rules hold for the whole package. A signature is returned only after it was recovered to the
// signer's address, for every kind of signer: a signer with the wrong key causes an error and never
// costs money. And a secret is read from a file or stays in another program: it never appears in
// arguments, the environment, logs or error texts.
//
// The package does not know drafts, databases or the chain: its callers decide what to sign, and
// ensure that it is signed once.
package funding
