package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultStages(t *testing.T) {
	c, err := Parse(File, []byte("environments:\n  staging: {inventories: [s.yaml]}\n  production: {inventories: ['clusters/*.yaml']}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"validate", "plan", "gate", "deploy staging", "verify staging", "deploy production", "verify production"}
	if diff := cmp.Diff(want, c.Stages.Keys()); diff != "" {
		t.Error(diff)
	}
	if e, ok := c.EnvironmentOf("clusters/a.yaml"); !ok || e.Key != "production" || e.Value.OnFailedVerify != "rollback" {
		t.Errorf("got %+v", e)
	}
	empty, err := Parse(File, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default().Stages.Keys(), empty.Stages.Keys()); diff != "" {
		t.Error(diff)
	}
}

func TestOrderOfStages(t *testing.T) {
	c, err := Parse(File, []byte(`
stages:
  deploy: {uses: deploy, environment: production, needs: [gate, allocate], inputs: {VIP: allocate.ADDRESS, FIXED: a.b}}
  allocate: {command: [./allocate], outputs: [ADDRESS], needs: [validate]}
  gate: {uses: gate, needs: [validate]}
  validate: {uses: validate, needs: []}
`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range c.Ordered() {
		names = append(names, e.Key)
	}
	if diff := cmp.Diff([]string{"validate", "allocate", "gate", "deploy"}, names); diff != "" {
		t.Error(diff)
	}
	if stage, output, is := c.Reference("allocate.ADDRESS"); !is || stage != "allocate" || output != "ADDRESS" {
		t.Errorf("%s %s %v", stage, output, is)
	}
	if _, _, is := c.Reference("a.b"); is {
		t.Error("a text was taken for a reference")
	}
}

func TestEnvironmentsThatDoNotNeedEachOther(t *testing.T) {
	c, err := Parse(File, []byte(`
environments:
  staging: {inventories: [s.yaml]}
  berlin: {inventories: [b.yaml]}
  paris: {inventories: [p.yaml], needs: [staging]}
  lab: {inventories: [l.yaml], needs: []}
`))
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string][]string{}
	for _, e := range c.Stages {
		needs[e.Key] = e.Value.Needs
	}
	for stage, want := range map[string][]string{"deploy staging": {"gate"}, "deploy berlin": {"gate", "verify staging"}, "deploy paris": {"gate", "verify staging"},
		"verify paris": {"deploy paris"}, "deploy lab": {"gate"}, "gate": {"plan"}} {
		if diff := cmp.Diff(want, needs[stage]); diff != "" {
			t.Errorf("%s: %s", stage, diff)
		}
	}
	if !c.Parallel("deploy lab") || !c.Parallel("verify staging") || c.Parallel("gate") {
		t.Error("lab is deployed beside staging, and gate runs alone")
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":                                         {"enviroments: {}", `deployer.ci.yaml:1:1: unknown key "enviroments"; did you mean "environments"?`},
		"no inventories":                                      {"environments:\n  a: {}", `deployer.ci.yaml:2:6: environment a: key "inventories" is required`},
		"playbook outside of the repository":                  {"environments:\n  a: {inventories: [x], playbooks: [{file: /etc/site.yaml}]}", `deployer.ci.yaml:2:3: environment a: playbook "/etc/site.yaml" leads out of the repository`},
		"duplicate playbook":                                  {"environments:\n  a: {inventories: [x], playbooks: [{file: a.yaml}, {file: ./a.yaml, order: before}]}", `deployer.ci.yaml:2:3: environment a: playbook ./a.yaml is named twice`},
		"playbook like a flag":                                {"environments:\n  a: {inventories: [x], playbooks: [{file: ./--limit=x}]}", `deployer.ci.yaml:2:3: environment a: playbook "./--limit=x": the name of a playbook begins with no dash`},
		"remote like a flag":                                  {"remote: --upload-pack=touch", `deployer.ci.yaml: remote: want the name of a remote of git, such as origin, got "--upload-pack=touch"`},
		"remote that is an address":                           {"remote: 'ext::sh -c id'", `deployer.ci.yaml: remote: want the name of a remote of git, such as origin, got "ext::sh -c id"`},
		"remote that is a path":                               {"remote: ../other.git", `got "../other.git"; an address belongs into the configuration of the runner's clone`},
		"unknown order of a playbook":                         {"environments:\n  a: {inventories: [x], playbooks: [{file: a.yaml, order: first}]}", `want one of before, after, got "first"`},
		"playbook with a space":                               {"environments:\n  a: {inventories: [x], playbooks: [{file: a b.yaml}]}", `playbook "a b.yaml": the name of a playbook has no spaces`},
		"inventory outside of the repository":                 {"environments:\n  a: {inventories: [../x.yaml]}", `deployer.ci.yaml:2:3: environment a: "../x.yaml" leads out of the repository`},
		"unknown level of a gate":                             {"environments:\n  a: {inventories: [x], gates: {quorum: {level: blok}}}", `deployer.ci.yaml:2:49: gates.quorum.level of environment a: want one of block, advise, off, got "blok"; did you mean "block"?`},
		"unknown day of a window":                             {"environments:\n  a: {inventories: [x], gates: {control_plane: {windows: [{days: [sunday], from: '1:00', to: '2:00'}]}}}", `deployer.ci.yaml:2:3: environment a: gates.control_plane: "sunday" is no day`},
		"unknown time zone":                                   {"environments:\n  a: {inventories: [x], gates: {control_plane: {windows: [{from: '01:00', to: '02:00', zone: Mars}]}}}", `there is no time zone "Mars"`},
		"stage with uses and command":                         {"stages: {a: {uses: gate, command: [x]}}", `deployer.ci.yaml:1:10: stage a: name either uses or command`},
		"stage without uses and command":                      {"stages: {a: {}}", `deployer.ci.yaml:1:10: stage a: name either uses or command`},
		"unknown environment of a stage":                      {"stages: {a: {uses: deploy, environment: prod}}", `deployer.ci.yaml:1:10: stage a: there is no environment "prod"; did you mean "production"?`},
		"unknown stage in needs":                              {"stages: {a: {uses: gate, needs: [b]}}", `deployer.ci.yaml:1:10: stage a: needs: there is no stage "b"`},
		"needs of an environment":                             {"environments:\n  a: {inventories: [x], needs: [c]}", `deployer.ci.yaml:2:3: environment a: needs: there is no environment "c"`},
		"needs without effect":                                {"environments:\n  a: {inventories: [x], needs: []}\nstages: {g: {uses: gate}}", `deployer.ci.yaml:2:3: environment a: needs is for the default stages; write needs of the stages instead`},
		"environments in a cycle":                             {"environments:\n  a: {inventories: [x], needs: [b]}\n  b: {inventories: [y]}", `stages wait for each other: deploy a -> verify a -> deploy b -> verify b -> deploy a`},
		"two stages of one cluster that may run concurrently": {"stages:\n  d: {uses: deploy, environment: production}\n  v: {uses: verify, environment: production, needs: []}", `deployer.ci.yaml:3:3: stage v: it works on the same clusters as the stage d and may run at the same time; let one of them need the other`},
		"cycle":                                       {"stages:\n  a: {uses: gate, needs: [b]}\n  b: {uses: plan, needs: [a]}", `stages wait for each other: `},
		"unknown output":                              {"stages:\n  a: {command: [x], outputs: [A]}\n  b: {uses: gate, inputs: {X: a.B}}", `deployer.ci.yaml:3:3: stage b: input X: stage a has no output "B"`},
		"output of a gate":                            {"stages:\n  a: {uses: gate, outputs: [KUBECONFIG]}", `deployer.ci.yaml:2:3: stage a: outputs are for commands, and KUBECONFIG for deploy and verify`},
		"artifact of a gate":                          {"stages:\n  a: {uses: gate, artifacts: [x]}", `deployer.ci.yaml:2:3: stage a: artifacts are for commands`},
		"input of a stage that may not have run":      {"stages:\n  a: {command: [x], outputs: [A], needs: []}\n  b: {uses: gate, needs: [], inputs: {X: a.A}}", `deployer.ci.yaml:3:3: stage b: input X: stage a does not run before this one; name it in needs`},
		"invalid name of a secret":                    {"secrets: [{env: a-b}]", `deployer.ci.yaml: secrets[0]: env must be the name of an environment variable`},
		"secret in the files":                         {"secrets: [{env: A, file: x}]", `deployer.ci.yaml: secrets[0]: file "x" must be an absolute path`},
		"removed inventory outside of the repository": {"removed: [../x.yaml]", `deployer.ci.yaml: removed[0]: want the path of an inventory, relative to the repository, got "../x.yaml"`},
		"invalid lock_timeout":                        {"environments:\n  a: {inventories: [x], lock_timeout: soon}", `deployer.ci.yaml:2:3: environment a: lock_timeout: want a duration such as 30m, got "soon"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(File, []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestPlaceholders(t *testing.T) {
	c, err := Parse(File, []byte(`
secrets: [{env: LB_TOKEN}, {env: API_URL}]
placeholders: {API_URL: "https://192.0.2.1"}
stages:
  allocate: {command: [./allocate], outputs: [ADDRESS], inputs: {OF_COMMAND: text}}
  plan: {uses: plan, inputs: {API_ADDRESS: allocate.ADDRESS, REGION: eu, OTHER: one}}
  deploy: {uses: deploy, environment: production, inputs: {API_ADDRESS: allocate.ADDRESS, REGION: eu, OTHER: two}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"LB_TOKEN": "lb-token.invalid", "API_URL": "https://192.0.2.1", "API_ADDRESS": "api-address.invalid", "REGION": "eu", "OTHER": "other.invalid", "OF_COMMAND": "", "UNKNOWN": ""} {
		if got, declared := c.Placeholder(name); got != want || declared != (want != "") {
			t.Errorf("%s: %q, declared %v, want %q", name, got, declared, want)
		}
	}
	if _, err := Parse(File, []byte("placeholders: {a-b: x}\n")); err == nil || !strings.Contains(err.Error(), "placeholders") {
		t.Errorf("a name that is none: %v", err)
	}
}
