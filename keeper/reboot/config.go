package reboot

import (
	"fmt"
	"time"

	"deployer/keeper/configfile"
)

// Path is the path of the configuration on a node.
const Path = "/etc/deployer/reboot.yaml"

// Config is the configuration of a node, which deployer install writes.
type Config struct {
	Node           string        `yaml:"node" required:"true" doc:"Name of the Node."`
	API            API           `yaml:"api" required:"true" doc:"The API."`
	EvictTimeout   time.Duration `yaml:"evict_timeout" required:"true" doc:"Maximum time for evictions and the ends of the pods."`
	UnmountTimeout time.Duration `yaml:"unmount_timeout" required:"true" doc:"Maximum time for the volumes afterwards."`
}

// API is how a node reaches the API.
type API struct {
	Server  string   `yaml:"server" required:"true" doc:"URL."`
	Masters []string `yaml:"masters" required:"true" doc:"Addresses and ports of the API servers, for when nothing listens at the address of the URL."`
	CA      string   `yaml:"ca" required:"true" doc:"File with the authority of the server."`
	Cert    string   `yaml:"cert" required:"true" doc:"File with the kubelet's certificate."`
	Key     string   `yaml:"key" required:"true" doc:"File with the kubelet's key."`
	Rotated string   `yaml:"rotated" doc:"File with certificate and key that the kubelet has renewed, preferred when it exists."`
}

// ReadConfig reads a configuration. Its error names file, line and column.
func ReadConfig(path string) (Config, error) {
	text, err := configfile.Read(path, "of the reboot unit")
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
	if c.EvictTimeout <= 0 || c.UnmountTimeout <= 0 {
		return c, fmt.Errorf("%s: evict_timeout and unmount_timeout must be more than 0", path)
	}
	return c, nil
}
