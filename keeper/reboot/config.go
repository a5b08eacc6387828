package reboot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
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

// maxConfig is the maximum size of a configuration in bytes.
const maxConfig = 1 << 20

// ReadConfig reads a configuration. Its error names file, line and column.
func ReadConfig(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	return ParseConfig(path, text)
}

// ParseConfig returns the configuration in a text; path is its name in errors.
func ParseConfig(path string, text []byte) (Config, error) {
	var c Config
	var document yaml.Node
	err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&document)
	if errors.Is(err, io.EOF) {
		return c, fmt.Errorf("%s is empty: run deployer install", path)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if err := strictyaml.Decode(path, &document, &c); err != nil {
		return c, err
	}
	if c.EvictTimeout <= 0 || c.UnmountTimeout <= 0 {
		return c, fmt.Errorf("%s: evict_timeout and unmount_timeout must be more than 0", path)
	}
	return c, nil
}
