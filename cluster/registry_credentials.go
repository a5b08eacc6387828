package cluster

import (
	"maps"
	"slices"
	"strings"
)

// RegistryLogin is the user with which one registry is asked.
type RegistryLogin struct {
	Registry string `json:"registry"` // host and port as in references of images
	// Key is the name of the registry in the kubelet's config.json: for Docker Hub that of its
	// first API (kubernetes pkg/credentialprovider/keyring.go, defaultRegistryKey).
	Key      string `json:"key"`
	Username string `json:"username"` // of the user
	Password string `json:"password"` // of the user
}

// dockerHubKey is the key of Docker Hub in files with credentials.
const dockerHubKey = "https://index.docker.io/v1/"

// credentialsKey begins the keys of the inventory for credentials of registries.
const credentialsKey = "cluster.containerd.credentials."

// logins returns the credentials by name of the registry.
func logins(s ContainerdSpec) []RegistryLogin {
	out := []RegistryLogin{}
	for _, name := range slices.Sorted(maps.Keys(s.Credentials)) {
		l := RegistryLogin{Registry: name, Key: name, Username: s.Credentials[name].Username, Password: s.Credentials[name].Password}
		if name == "docker.io" {
			l.Key = dockerHubKey
		}
		out = append(out, l)
	}
	return out
}

// checkRegistryCredentials checks cluster.containerd.credentials. A file with the password
// must have been read before.
func (c *checker) checkRegistryCredentials() {
	credentials := c.spec.Containerd.Credentials
	for _, name := range sortedKeys(credentials) {
		key, l := credentialsKey+name, credentials[name]
		if !registryHost.MatchString(name) {
			c.add("bad-registry", key, "%q is not a registry such as docker.io or registry.example:5000", name)
		}
		switch {
		case l.Username == "" || l.Password == "" && l.PasswordFile == "":
			c.add("bad-credentials", key, "set username, and password or password_file")
		case strings.Contains(l.Username, ":") || !printable(l.Username):
			c.add("bad-credentials", key+".username", "it has a colon or characters that cannot be printed, which HTTP cannot send")
		case !printable(l.Password):
			c.add("bad-credentials", key, "the password has characters that cannot be printed, such as the end of a line")
		}
	}
}

// printable reports whether a text has no control characters.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// plainRegistryPasswords returns a problem for each password that is not marked as secret.
func plainRegistryPasswords(c *Cluster, isSecret func(string) bool) Problems {
	var out Problems
	for _, l := range c.Containerd.Credentials {
		if !isSecret(l.Password) {
			out = append(out, Problem{Code: "plain-secret", Subject: credentialsKey + l.Registry + ".password",
				Message: "the password would be visible in output: write !env NAME, which reads it from an environment variable, !secret TEXT, or password_file"})
		}
	}
	return out
}
