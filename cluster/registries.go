package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// dirRegistryCA is the directory of registries' CA certificates on nodes.
const dirRegistryCA = "/etc/containerd/ca"

// Registry is the configuration for pulling images of one registry.
type Registry struct {
	Name    string           `json:"name"`    // name of the registry, such as docker.io
	Server  string           `json:"server"`  // URL of the registry, which is tried after the mirrors
	CA      string           `json:"ca"`      // path of the CA certificate of the registry; empty: the CA certificates of the host
	Mirrors []RegistryMirror `json:"mirrors"` // mirrors in the order in which they are tried
	Secret  bool             `json:"secret"`  // a mirror has credentials
}

// RegistryMirror is a server that containerd tries before the registry.
type RegistryMirror struct {
	URL      string `json:"url"`      // URL of the mirror, with http or https
	CA       string `json:"ca"`       // path of the CA certificate of the mirror; empty: the CA certificates of the host
	Username string `json:"username"` // user name at the mirror; empty: no credentials
	Password string `json:"password"` // password or token of the user
}

// RegistryAuthority is the CA of a registry's or mirror's certificate.
type RegistryAuthority struct {
	Host string `json:"host"` // host of the URL, with its port
	Path string `json:"path"` // path of the certificates on nodes
	PEM  string `json:"pem"`  // one or more certificates in PEM form
}

// registryHost matches a host with an optional port, as it stands in a reference
// of an image and in the name of a directory.
var registryHost = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?$`)

func authorities(s ContainerdSpec) []RegistryAuthority {
	out := []RegistryAuthority{}
	for _, host := range slices.Sorted(maps.Keys(s.Authorities)) {
		text := strings.TrimSpace(s.Authorities[host]) + "\n"
		out = append(out, RegistryAuthority{Host: host, Path: dirRegistryCA + "/" + host + ".crt", PEM: text})
	}
	return out
}

// registries returns the registries with mirrors or a CA.
func registries(s ContainerdSpec) []Registry {
	out := []Registry{}
	names := slices.AppendSeq(slices.Collect(maps.Keys(s.Mirrors)), maps.Keys(s.Authorities))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		r := Registry{Name: name, Server: "https://" + name, Mirrors: []RegistryMirror{}, CA: authorityPath(s, name)}
		if name == "docker.io" {
			r.Server = "https://registry-1.docker.io" // the registry's real name
		}
		for _, mirror := range s.Mirrors[name] {
			m := RegistryMirror{URL: mirror}
			u, err := url.Parse(mirror)
			if err == nil && u.Scheme == "https" {
				m.CA = authorityPath(s, u.Host)
			}
			if err == nil && s.Credentials[u.Host].Username != "" {
				m.Username, m.Password, r.Secret = s.Credentials[u.Host].Username, s.Credentials[u.Host].Password, true
			}
			r.Mirrors = append(r.Mirrors, m)
		}
		out = append(out, r)
	}
	return out
}

func authorityPath(s ContainerdSpec, host string) string {
	if _, ok := s.Authorities[host]; !ok {
		return ""
	}
	return dirRegistryCA + "/" + host + ".crt"
}

func (c *checker) checkRegistries() {
	c.checkRegistryCredentials()
	c.checkContainerdProxy()
	s := c.spec.Containerd
	for _, registry := range sortedKeys(s.Mirrors) {
		key := "cluster.containerd.mirrors." + registry
		if !registryHost.MatchString(registry) {
			c.add("bad-registry", key, "%q is not a registry such as docker.io or registry.example:5000", registry)
		}
		for _, mirror := range s.Mirrors[registry] {
			u, err := url.Parse(mirror)
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(mirror, "\"\\\n") {
				c.add("bad-mirror", key, "%q is not an address such as https://mirror.example.com", mirror)
			} else if u.User != nil {
				c.add("bad-mirror", key, "the address of %s has a user or password, which containerd does not use: write them into cluster.containerd.credentials", u.Host)
			}
		}
	}
	for _, host := range sortedKeys(s.Authorities) {
		key := "cluster.containerd.authorities." + host
		if !registryHost.MatchString(host) {
			c.add("bad-registry", key, "%q is not a host with its port, such as mirror.example:5000", host)
		}
		if err := certificates(s.Authorities[host]); err != nil {
			c.add("bad-certificate", key, "%v: give the PEM text of the authority's certificate", err)
		}
	}
}

// certificates returns nil for one certificate or several in PEM form. Any other content
// is an error, because it, a key above all, would be copied to every node.
func certificates(text string) error {
	rest, n := []byte(strings.TrimSpace(text)), 0
	for ; len(rest) > 0; n++ {
		var block *pem.Block
		if !strings.HasPrefix(string(rest), "-----BEGIN CERTIFICATE-----") {
			return errors.New("it has a part that is not a certificate")
		}
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("a certificate is incomplete")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return err
		}
		rest = []byte(strings.TrimSpace(string(rest)))
	}
	if n == 0 {
		return errors.New("it has no certificate")
	}
	return nil
}
