package inventory

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"deployer/strictyaml"
)

type sampleCluster struct {
	Name    string         `yaml:"name" required:"true" doc:"name of the cluster"`
	Renew   time.Duration  `yaml:"renew" default:"10s"`
	Kind    string         `yaml:"kind" enum:"nginx,haproxy" default:"nginx"`
	Any     map[string]any `yaml:"any"`
	Pods    []string       `yaml:"pods"`
	AtRest  *bool          `yaml:"at_rest" default:"true"`
	MaxPods uint           `yaml:"max_pods" default:"110"`
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(sampleCluster{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("inventory.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("inventory.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// generic decodes YAML into the types of a schema validator.
func generic(t *testing.T, text string) any {
	t.Helper()
	n, err := strictyaml.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strictyaml.ResolveTags("f", n, func(k string) (string, bool) { return "value", true }); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := strictyaml.Decode("f", n, &v); err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchemaAgreesWithTheReader checks that the schema accepts exactly the shapes that the
// reader accepts.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	s := compiled(t)
	for text, valid := range map[string]bool{
		full:                         true,
		"hosts: {a: }":               true,
		"hosts: {a: {address: x}}":   true,
		"hosts: {a: {adress: x}}":    false,
		"host: {a: }":                false,
		"{}":                         false,
		"hosts: [a]":                 false,
		"hosts: {a: }\nforks: x":     false,
		"hosts: {a: }\nforks: 1.5":   false,
		"hosts: {a: }\nroles: {x: }": false,
		"hosts: {a: }\nroles: {master: [a]}\nmax_fail: {master: 10%}":                       true,
		"hosts: {a: }\nroles: {master: {a: b}}":                                             false,
		"hosts: {a: }\nmax_fail: {master: ten}":                                             false,
		"hosts: {a: }\nssh: {host_keys: strict, connect_timeout: 1m30s, bastion: []}":       true,
		"hosts: {a: }\nssh: {host_keys: never}":                                             false,
		"hosts: {a: }\nssh: {connect_timeout: 10}":                                          false,
		"hosts: {a: }\nssh: {agent: yes}":                                                   false,
		"hosts: {a: }\nssh: {bastion: {adress: x}}":                                         false,
		"hosts: {a: {ssh: {bastion: [{address: x, prot: 1}]}}}":                             false,
		"hosts: {a: {taints: ['a=b:NoSchedule']}}":                                          true,
		"hosts: {a: {taints: ['a']}}":                                                       false,
		"hosts: {a: {overrides: {any: {thing: [1]}}, labels: {a: 1}}}":                      true,
		"hosts: {a: {overrides: [1]}}":                                                      false,
		"hosts: {a: }\ncluster: {name: x, renew: 1s, kind: haproxy, at_rest: false}":        true,
		"hosts: {a: }\ncluster: {name: x, kind: , renew: , any: {a: [1]}, pods: [10, a]}":   true,
		"hosts: {a: }\ncluster: {}":                                                         false,
		"hosts: {a: }\ncluster: {name: x, kind: iis}":                                       false,
		"hosts: {a: }\ncluster: {name: x, max_pods: -1}":                                    false,
		"hosts: {a: }\ncluster: {nmae: x}":                                                  false,
		"hosts: {a: }\ngroups: {g: {hosts: a, children: [], vars: {x: {y: z}}, ssh: {}}}\n": true,
	} {
		bySchema := s.Validate(generic(t, text))
		if (bySchema == nil) != valid {
			t.Errorf("%s\nvalid should be %v, the schema says %v", text, valid, bySchema)
		}
		inv, byReader := read(text, map[string]string{"TOKEN": "value"})
		if byReader == nil && inv.Cluster != nil {
			byReader = strictyaml.Decode("f", inv.Cluster, &sampleCluster{})
		}
		if text != full && (byReader == nil) != valid {
			t.Errorf("%s\nvalid should be %v, the reader says %v", text, valid, byReader)
		}
	}
}

func TestSchemaTellsDefaultsAndDocs(t *testing.T) {
	text, err := Schema(sampleCluster{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties struct {
			Cluster struct {
				Description string
				Properties  map[string]struct {
					Description string
					Default     any
				}
			}
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	c := s.Properties.Cluster
	if c.Description == "" || c.Properties["name"].Description != "name of the cluster" {
		t.Errorf("descriptions are missing: %+v", c)
	}
	if c.Properties["renew"].Default != "10s" || c.Properties["at_rest"].Default != true || c.Properties["max_pods"].Default != 110.0 {
		t.Errorf("defaults are wrong: %+v", c.Properties)
	}
}
