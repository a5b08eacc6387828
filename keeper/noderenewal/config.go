package noderenewal

import (
	"fmt"
	"time"

	"deployer/keeper/apiaccess"
	"deployer/keeper/configfile"
	"deployer/tasks/certificate"
)

// Path is the path of the configuration on a node.
const Path = "/etc/deployer/node-certificates.yaml"

// Config is the configuration of a node, which deployer install writes.
type Config struct {
	Node         string             `yaml:"node" required:"true" doc:"Name of the Node."`
	Address      string             `yaml:"address" required:"true" doc:"Address at which its kubelet serves."`
	API          apiaccess.Node     `yaml:"api" required:"true" doc:"The API."`
	Certificates []certificate.Want `yaml:"certificates" required:"true" doc:"Certificates of the node, as the task certificate takes them."`
	RenewBefore  time.Duration      `yaml:"renew_before" required:"true" doc:"Remaining lifetime from which on a certificate is renewed."`
}

// ReadConfig reads a configuration. Its error names file, line and column.
func ReadConfig(path string) (Config, error) {
	text, err := configfile.Read(path, "of the node's certificates")
	if err != nil {
		return Config{}, err
	}
	return ParseConfig(path, text)
}

// ParseConfig returns the configuration in a text; path is its name in errors.
func ParseConfig(path string, text []byte) (Config, error) {
	var c Config
	if err := configfile.Decode(path, text, &c); err != nil {
		return c, err
	}
	if c.RenewBefore <= 0 {
		return c, fmt.Errorf("%s: renew_before must be more than 0", path)
	}
	return c, nil
}
