package replace

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/keeper/maintenance/profile"
	"deployer/strictyaml"
	"deployer/tasks/control/hook"
)

// Config is a file kubernikus.yaml of maintenance-controller, with the keys replace and stagger.
type Config struct {
	Intervals intervals  `yaml:"intervals" required:"true" doc:"Times."`
	Secret    *yaml.Node `yaml:"cloudProviderSecret" doc:"Secret with credentials of OpenStack; without effect, because the hook has its own."`
	Replace   *hook.Hook `yaml:"replace" doc:"Hook that removes or replaces the machine of a node; with command or http, as the action hook. Default: none, and the label cloud.sap/delete-node is an error."`
	Stagger   stagger    `yaml:"stagger" doc:"Leases that keep replacements in turn."`

	// Notes are keys of the file that have no effect here, each with its place.
	Notes []string `yaml:"-"`
}

type intervals struct {
	Requeue     profile.Duration `yaml:"requeue" required:"true" doc:"Time between two looks at a node."`
	PodDeletion phase            `yaml:"podDeletion" doc:"Time for pods to end."`
	PodEviction phase            `yaml:"podEviction" doc:"Time to evict pods."`
}

type phase struct {
	Period  *yaml.Node       `yaml:"period" doc:"Time between two looks at pods; without effect, because each pass looks once."`
	Timeout profile.Duration `yaml:"timeout" doc:"Maximum duration. Default 5m."`
	Force   bool             `yaml:"force" doc:"Delete pods that could not be evicted in time; of podEviction only. Default false."`
}

type stagger struct {
	Duration  profile.Duration `yaml:"duration" doc:"Time between the end of one replacement and the begin of the next. Default 10m."`
	Name      string           `yaml:"leaseName" doc:"Name of the Leases, which -0, -1 and so on follow. Default deployer-replace."`
	Namespace string           `yaml:"leaseNamespace" doc:"Namespace of the Leases. Default kube-system."`
	Parallel  int              `yaml:"parallel" range:"1.." doc:"Number of nodes that are replaced at a time. Default 1."`
}

// defaultTimeout is the default timeout of evictions and of deletions, from the example of the Kubernikus controller.
const defaultTimeout = 5 * time.Minute

// defaultHookTimeout is the default timeout of the hook. A pass waits for it.
const defaultHookTimeout = time.Minute

// Load reads the file and checks all of it.
func Load(data []byte, source string, env func(string) (string, bool)) (*Config, error) {
	root, err := profile.Parse(data, source, env)
	if err != nil {
		return nil, err
	}
	c := &Config{
		Stagger: stagger{profile.Duration(10 * time.Minute), "deployer-replace", "kube-system", 1},
		Replace: &hook.Hook{Timeout: defaultHookTimeout},
	}
	c.Intervals.PodDeletion.Timeout, c.Intervals.PodEviction.Timeout = profile.Duration(defaultTimeout), profile.Duration(defaultTimeout)
	if err := strictyaml.Decode(source, root, c); err != nil {
		return nil, err
	}
	if len(c.Replace.Command) == 0 && c.Replace.HTTP == nil {
		if key(root, "replace") != nil {
			return nil, strictyaml.At(source, key(root, "replace")).Errorf("replace: want command or http")
		}
		c.Replace = nil
	} else if err := c.Replace.Valid(); err != nil {
		return nil, strictyaml.At(source, key(root, "replace")).Errorf("replace: %v", err)
	}
	if err := c.validate(); err != nil {
		return nil, strictyaml.At(source, root).Errorf("%v", err)
	}
	c.note(source)
	return c, nil
}

func (c *Config) validate() error {
	switch {
	case time.Duration(c.Stagger.Duration) < time.Second:
		return errors.New("stagger.duration must be at least 1s: Leases count whole seconds")
	case c.Stagger.Name == "" || c.Stagger.Namespace == "":
		return errors.New("stagger.leaseName and stagger.leaseNamespace must not be empty")
	case c.Intervals.PodDeletion.Force:
		return errors.New("intervals.podDeletion.force does not exist; intervals.podEviction has force")
	}
	return nil
}

func (c *Config) note(source string) {
	for name, n := range map[string]*yaml.Node{"cloudProviderSecret": c.Secret, "intervals.podDeletion.period": c.Intervals.PodDeletion.Period, "intervals.podEviction.period": c.Intervals.PodEviction.Period} {
		if n != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: %s has no effect", strictyaml.At(source, n), name))
		}
	}
	slices.Sort(c.Notes)
}

// key returns the value of a key of the document; nil when it has none.
func key(root *yaml.Node, name string) *yaml.Node {
	if root.Kind == yaml.DocumentNode && len(root.Content) > 0 {
		root = root.Content[0]
	}
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == name && root.Content[i+1].ShortTag() != "!!null" {
			return root.Content[i+1]
		}
	}
	return nil
}

// drain returns the limits of drains.
func (c *Config) drain() profile.Drain {
	return profile.Drain{EvictionTimeout: time.Duration(c.Intervals.PodEviction.Timeout), DeletionTimeout: time.Duration(c.Intervals.PodDeletion.Timeout), Force: c.Intervals.PodEviction.Force}
}

// leases returns the keys of the Leases.
func (c *Config) leases() []profile.LeaseKey {
	var out []profile.LeaseKey
	for i := range c.Stagger.Parallel {
		out = append(out, profile.LeaseKey{Namespace: c.Stagger.Namespace, Name: fmt.Sprintf("%s-%d", c.Stagger.Name, i)})
	}
	return out
}
