package repository

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// signedHeader is the first line of a signed state. It is no JSON, so that a deployer that knows
// no signatures refuses the state.
const signedHeader = "deployer ci state, format 2\n"

// SignedState is the state of a cluster as it is kept below refs/deployer/state/: the header,
// these fields as JSON, and a line with the algorithm, the public key and the signature of all
// bytes before that line.
type SignedState struct {
	// Inventory is the file of the cluster: the state of one cluster is none of another.
	Inventory string `json:"inventory"`
	// Repository is the name of the repository; see Repository.StateName. The state of one is none
	// of another with the same key. It is empty in states of versions that did not write it.
	Repository string `json:"repository,omitempty"`
	// Serial grows by at least 1 with each state of the cluster that is written.
	Serial  int64     `json:"serial"`
	Written time.Time `json:"written"`
	// Removed is true for a cluster that was removed.
	Removed bool         `json:"removed,omitempty"`
	State   ClusterState `json:"state"`

	// Signer is the public key; empty for a state without a signature, whose other fields are
	// zero, but for State.
	Signer string `json:"-"`
	// invalid is the reason why the bytes are no state, or not those that were signed.
	invalid error
	raw     []byte // as they are kept
}

// sign sets the signature and the bytes of a state.
func (s *SignedState) sign(key ed25519.PrivateKey) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	text := append([]byte(signedHeader), append(data, '\n')...)
	s.Signer = publicKey(key.Public().(ed25519.PublicKey))
	s.raw = fmt.Appendf(text, "%s %s\n", s.Signer, base64.StdEncoding.EncodeToString(ed25519.Sign(key, text)))
	return nil
}

// errBadSignature is the error of a state whose signature does not belong to its bytes.
var errBadSignature = errors.New("its signature is not valid: somebody has changed it")

// parseState reads the bytes of a state and checks that the signature is one of the key that they
// name. The caller decides about that key; see acceptedBy.
func parseState(data []byte) (s SignedState) {
	if bytes.HasPrefix(data, []byte("{")) { // as written before states were signed
		s.invalid = json.Unmarshal(data, &s.State)
		return s
	}
	if !bytes.HasPrefix(data, []byte(signedHeader)) {
		return SignedState{invalid: errors.New("it is no state of deployer ci, or one of a newer version")}
	}
	end := bytes.LastIndexByte(bytes.TrimRight(data, "\n"), '\n') + 1
	signed, last := data[:end], strings.Fields(string(data[end:]))
	if len(last) != 2 || !validSignature(last[0], last[1], signed) {
		return SignedState{invalid: errBadSignature}
	}
	if err := json.Unmarshal(signed[len(signedHeader):], &s); err != nil {
		return SignedState{invalid: err}
	}
	s.Signer, s.raw = last[0], data
	return s
}

func validSignature(public, signature string, signed []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(public, publicPrefix))
	if err != nil || len(key) != ed25519.PublicKeySize || !strings.HasPrefix(public, publicPrefix) {
		return false
	}
	sum, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && ed25519.Verify(key, signed, sum)
}

// errUnbound is the error of a state that could be one of any repository.
var errUnbound = errors.New("it does not name its repository: an older version of deployer has written it")

// elsewhereError is the error of the state of another repository.
type elsewhereError struct{ repository, here string }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("it is the state of the repository %q, and this is %q", e.repository, e.here)
}

// acceptedBy reports why a state is not authentic for a repository, an inventory and the accepted
// public keys; nil when it is. An empty repository stands for any.
func (s SignedState) acceptedBy(repository, inventory string, accepted []string) error {
	switch {
	case s.invalid != nil:
		return s.invalid
	case s.Signer == "":
		return errors.New("it has no signature: it was written by an older version of deployer, or by somebody else")
	case len(accepted) == 0:
		return fmt.Errorf("it is signed with the key %s, and there is no key here", s.Signer)
	case !slices.Contains(accepted, s.Signer):
		return fmt.Errorf("it is signed with another key, %s", s.Signer)
	case s.Inventory != inventory:
		return fmt.Errorf("it is a copy of the state of %s", s.Inventory)
	case repository == "" || s.Repository == repository:
		return nil
	case s.Repository == "":
		return errUnbound
	}
	return &elsewhereError{s.Repository, repository}
}
