package repository

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
)

// NameVariable is the environment variable with the name of the repository in its states.
const NameVariable = "DEPLOYER_CI_STATE_REPOSITORY"

// nameSetting is the key of the configuration of a repository that has the same.
const nameSetting = "deployer.stateRepository"

// maxName is the maximum number of bytes of a name.
const maxName = 300

// Identity returns a name that the repository keeps on this machine: the address of its remote
// origin without a password, which another clone of it has too; otherwise its directory.
func (r *Repository) Identity(ctx context.Context) string {
	sum := sha256.Sum256([]byte(r.address(ctx)))
	return hex.EncodeToString(sum[:8])
}

// address returns the address of the remote origin without user and password, which of a CI system
// has a token of the job; the directory of a repository without such a remote.
func (r *Repository) address(ctx context.Context) string {
	address, err := r.git(ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		return r.Dir
	}
	if u, err := url.Parse(address); err == nil {
		u.User = nil
		address = u.String()
	}
	return address
}

// StateName returns the name by which the states of the repository are bound to it: that of
// $DEPLOYER_CI_STATE_REPOSITORY, the one of deployer.stateRepository in the configuration of the
// repository, or the address of the remote origin (without scheme, user and .git, so that clones by
// SSH and HTTPS agree) or the directory of a repository without such a remote. Environment and
// configuration are the service's: who may push changes neither.
func (r *Repository) StateName(ctx context.Context, getenv func(string) string) (string, error) {
	if name := getenv(NameVariable); name != "" {
		return validName("$"+NameVariable, name)
	}
	if name, err := r.ConfiguredName(ctx); name != "" || err != nil {
		return name, err
	}
	return validName("the address of the remote origin", plainAddress(r.address(ctx), r.Dir))
}

// ConfiguredName returns the name of the repository in its states that its configuration has
// (deployer.stateRepository); empty for none.
func (r *Repository) ConfiguredName(ctx context.Context) (string, error) {
	name, err := r.git(ctx, "config", "--local", "--get", nameSetting)
	if err != nil {
		return "", nil //nolint:nilerr // there is none
	}
	return validName(nameSetting+" of "+r.Dir, name)
}

// validName returns the name from a source; an error for one that messages could not show.
func validName(source, name string) (string, error) {
	if len(name) > maxName || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return "", fmt.Errorf("%s is %q: the name of the repository in its states must be one line of at most %d printable bytes; set $%s", source, name, maxName, NameVariable)
	}
	return name, nil
}

// plainAddress returns an address without what differs between two ways to the same repository:
// the scheme, the user, and .git at the end. A relative path is one below the parent of dir.
func plainAddress(address, dir string) string {
	address = strings.TrimPrefix(address, "file://")
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host + u.Path
	} else if host, path, scp := strings.Cut(address, ":"); scp && !strings.ContainsAny(host, "/\\") {
		address = host[strings.LastIndexByte(host, '@')+1:] + "/" + strings.TrimPrefix(path, "/")
	} else {
		if !filepath.IsAbs(address) {
			address = filepath.Join(filepath.Dir(dir), address)
		}
		address = filepath.Clean(address)
	}
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(address, "/"), ".git"), "/")
}
