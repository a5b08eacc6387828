package config

import (
	"fmt"
	"strings"
	"time"

	"deployer/strictyaml"
)

// The built-in stages.
const (
	Validate = "validate"
	Plan     = "plan"
	Gate     = "gate"
	Deploy   = "deploy"
	Verify   = "verify"
)

// Kubeconfig is the output of deploy and verify that later stages may use.
const Kubeconfig = "KUBECONFIG"

// Stage is one step of a run.
type Stage struct {
	Uses        string            `yaml:"uses" enum:"validate,plan,gate,deploy,verify" doc:"A stage of deployer; a stage has this or command."`
	Environment string            `yaml:"environment" doc:"Environment of deploy and verify."`
	Command     []string          `yaml:"command" doc:"A command of your own, started at the top of the checked-out revision."`
	Needs       []string          `yaml:"needs" doc:"Stages that must have passed before; default: the stage before this one in the file. Stages that do not need each other run at the same time."`
	Inputs      map[string]string `yaml:"inputs" doc:"Environment variables of this stage by name: STAGE.OUTPUT is the output of a stage, any other text is the value."`
	Outputs     []string          `yaml:"outputs" doc:"Names of the values that the command writes as NAME=VALUE lines to the file $DEPLOYER_CI_OUTPUT. The stages deploy and verify can have KUBECONFIG: the admin kubeconfigs of the clusters, which exist until the run ends."`
	Artifacts   []string          `yaml:"artifacts" doc:"Patterns of files that the command leaves and that are kept with the reports; a file that contains a secret is refused."`
	Timeout     time.Duration     `yaml:"timeout" doc:"Maximum duration; default: none."`
	AllowFail   bool              `yaml:"allow_fail" default:"false" doc:"Whether the run continues when the stage fails."`
}

// defaultStages returns validate, plan and gate, then deploy and verify for each
// environment.
func defaultStages(environments strictyaml.Map[Environment]) (out strictyaml.Map[Stage]) {
	add := func(pos strictyaml.Pos, name string, s Stage) {
		out = append(out, strictyaml.Entry[Stage]{Key: name, Pos: pos, Value: s})
	}
	for _, uses := range []string{Validate, Plan, Gate} {
		add(strictyaml.Pos{}, uses, Stage{Uses: uses})
	}
	for i, e := range environments {
		before, needs := e.Value.Needs, []string{Gate}
		if before == nil && i > 0 {
			before = []string{environments[i-1].Key}
		}
		for _, name := range before {
			needs = append(needs, Verify+" "+name)
		}
		deploy := Deploy + " " + e.Key
		add(e.Pos, deploy, Stage{Uses: Deploy, Environment: e.Key, Needs: needs})
		add(e.Pos, Verify+" "+e.Key, Stage{Uses: Verify, Environment: e.Key, Needs: []string{deploy}})
	}
	return out
}

// String names the stage's work.
func (s Stage) String() string {
	if s.Uses != "" {
		return strings.TrimSpace(s.Uses + " " + s.Environment)
	}
	return fmt.Sprint(s.Command)
}
