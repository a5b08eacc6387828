package ssh

import "strings"

// Setting is one line of a client configuration that applies to a host.
type Setting struct {
	Keyword string `json:"keyword"` // as in ssh_config(5)
	Value   string `json:"value"`
	Place   string `json:"place"` // file:line
}

// keywords are the keywords that Apply reads. all is true for those with several
// values.
var keywords = []struct {
	name string
	all  bool
}{
	{"HostName", false}, {"User", false}, {"Port", false}, {"AddressFamily", false}, {"BindAddress", false}, {"ConnectTimeout", false},
	{"IdentityFile", true}, {"IdentitiesOnly", false}, {"IdentityAgent", false}, {"CertificateFile", true},
	{"UserKnownHostsFile", false}, {"GlobalKnownHostsFile", false}, {"HostKeyAlias", false}, {"HashKnownHosts", false},
	{"StrictHostKeyChecking", false}, {"ProxyJump", false}, {"ProxyCommand", false},
}

// Explain lists the lines of the configuration that apply to a target, also those
// that the target itself overrides.
func (c *ClientConfig) Explain(t Target) ([]Setting, error) {
	settings, err := c.cfg.For(c.query(t))
	if err != nil {
		return nil, err
	}
	var out []Setting
	for _, k := range keywords {
		values := settings[strings.ToLower(k.name)]
		if !k.all && len(values) > 1 {
			values = values[:1]
		}
		for _, v := range values {
			out = append(out, Setting{Keyword: k.name, Value: strings.Join(v.Args, " "), Place: v.Pos.String()})
		}
	}
	return out, nil
}
