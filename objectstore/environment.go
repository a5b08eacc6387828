package objectstore

import (
	"cmp"
	"fmt"
	"os"
)

// WithEnvironment returns the configuration with what it leaves open taken from the
// variables that programs of AWS read: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION,
// AWS_DEFAULT_REGION, and AWS_CA_BUNDLE, which names a file. getenv is os.Getenv.
func (c Config) WithEnvironment(getenv func(string) string) (Config, error) {
	c.Endpoint = cmp.Or(c.Endpoint, getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"))
	c.Region = cmp.Or(c.Region, getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), "us-east-1")
	if file := getenv("AWS_CA_BUNDLE"); c.CA == "" && file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("AWS_CA_BUNDLE: %w", err)
		}
		c.CA = string(text)
	}
	return c, nil
}
