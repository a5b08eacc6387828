package reboot

import (
	"fmt"
	"time"

	"deployer/keeper/apiaccess"
	"deployer/keeper/configfile"
)

// Path is the path of the configuration on a node.
const Path = "/etc/deployer/reboot.yaml"

// Config is the configuration of a node, which deployer install writes.
type Config struct {
	Node           string         `yaml:"node" required:"true" doc:"Name of the Node."`
	API            apiaccess.Node `yaml:"api" required:"true" doc:"The API."`
	EvictTimeout   time.Duration  `yaml:"evict_timeout" required:"true" doc:"Maximum time for evictions and the ends of the pods."`
	UnmountTimeout time.Duration  `yaml:"unmount_timeout" required:"true" doc:"Maximum time for the volumes afterwards."`
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
