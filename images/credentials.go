package images

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Login is a user of a registry.
type Login struct{ Username, Password string }

// Logins are the users of registries, by host and port as in references of images.
type Logins map[string]Login

// EnvAuths is the environment variable with credentials in the form of docker's config.json,
// as docker and GitLab read it: {"auths": {"registry.example": {"auth": BASE64}}}.
const EnvAuths = "DOCKER_AUTH_CONFIG"

// Keychain returns the credentials for registries: the given ones, then those of the
// environment variable EnvAuths, then those of the files of docker (DOCKER_CONFIG)
// and podman (REGISTRY_AUTH_FILE). Requests to a registry that none of these names
// have no credentials.
func Keychain(given Logins) authn.Keychain {
	return authn.NewMultiKeychain(given, environment{}, authn.DefaultKeychain)
}

// Resolve implements authn.Keychain.
func (l Logins) Resolve(target authn.Resource) (authn.Authenticator, error) {
	host := target.RegistryStr()
	if host == name.DefaultRegistry {
		host = "docker.io"
	}
	if login, ok := l[host]; ok {
		return &authn.Basic{Username: login.Username, Password: login.Password}, nil
	}
	return authn.Anonymous, nil
}

// environment has the credentials of EnvAuths.
type environment struct{}

// Resolve implements authn.Keychain.
func (environment) Resolve(target authn.Resource) (authn.Authenticator, error) {
	text := os.Getenv(EnvAuths)
	if text == "" {
		return authn.Anonymous, nil
	}
	logins, err := parseAuths([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvAuths, err) // never with its content
	}
	return logins.Resolve(target)
}

// parseAuths reads credentials in the form of docker's config.json. Its errors do not repeat
// the content.
func parseAuths(text []byte) (Logins, error) {
	var config struct {
		Auths map[string]struct {
			Username, Password, Auth string
		}
	}
	if json.Unmarshal(text, &config) != nil {
		return nil, errors.New(`it is not JSON such as {"auths": {"registry.example": {"auth": "BASE64 of USER:PASSWORD"}}}`)
	}
	out := Logins{}
	for key, c := range config.Auths {
		login := Login{Username: c.Username, Password: c.Password}
		if c.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(c.Auth)
			user, password, ok := strings.Cut(string(plain), ":")
			if err != nil || !ok {
				return nil, fmt.Errorf("auth of %s is not the BASE64 of USER:PASSWORD", key)
			}
			login = Login{Username: user, Password: password}
		}
		out[registryOfKey(key)] = login
	}
	return out, nil
}

// registryOfKey returns the registry of a key of docker's config.json, which may be a URL.
func registryOfKey(key string) string {
	_, rest, ok := strings.Cut(key, "://")
	if !ok {
		rest = key
	}
	host, _, _ := strings.Cut(rest, "/")
	if host == name.DefaultRegistry {
		return "docker.io"
	}
	return host
}
