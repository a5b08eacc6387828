package docgen

import (
	"fmt"
	"path/filepath"
	"strings"
)

const eventsText = `
With ` + "`--output json`" + ` a run prints one event per line, as JSON. The terminal view uses the same events. Empty fields are
omitted. Later versions may add fields and types: ignore unknown ones.

    deployer install --output json | jq -c 'select(.type == "step.end" and .result.status == "failed")'

Secrets of the inventory and registered results of secret steps are redacted in every text, in every encoding. Events of
steps marked secret contain no diff, output or command line, and only the module and exit code of a failure.
`

// Events returns the page of events. Events reads the comments of the source tree at root.
func Events(root string) (string, error) {
	src, err := readSource(filepath.Join(root, "engine"))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(generated("Events", "the types of package engine"))
	b.WriteString(eventsText)
	b.WriteString("\n## Types\n\n| `type` | When |\n|---|---|\n")
	writeValues(&b, src["EventType"])
	b.WriteString("\n## Statuses of a step\n\nIn `result.status`.\n\n| Status | Meaning |\n|---|---|\n")
	writeValues(&b, src["Status"])
	b.WriteString("\n## Kinds of effect\n\nIn `result.change.effects[].kind`.\n\n| Kind | Meaning |\n|---|---|\n")
	writeValues(&b, src["EffectKind"])
	b.WriteString("\n## Fields\n\n")
	writeRows(&b, src.rows("Event", ""))
	return b.String(), nil
}

func writeValues(b *strings.Builder, t sourceType) {
	for _, v := range t.values {
		fmt.Fprintf(b, "| `%s` | %s |\n", v.name, cell(v.doc))
	}
}

func writeRows(b *strings.Builder, rows []sourceRow) {
	b.WriteString("| Name | Type | What it is |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.path, r.typ, cell(r.doc))
	}
}

const variablesText = `
The variables of tasks, templates and conditions of a playbook. In a text: ` + "`{{ cluster.dns.ip }}`" + `; in a condition:
` + "`host.is_master && len(groups.etcd) > 1`" + `. An undefined name is an error with file, line and column, not an empty text.
Lists are never null.

| Name | Value |
|---|---|
| ` + "`cluster`" + ` | The resolved cluster, see below. |
| ` + "`host`" + ` | The host's entry in the cluster, see below. |
| ` + "`hosts`" + ` | All hosts of the cluster by name, each in the form of ` + "`host`" + `. |
| ` + "`groups`" + ` | Lists of host names: every group of the inventory, the roles master, minion, etcd and proxy, and node and all. |
| ` + "`images`" + ` | Full references of container images by their name in the catalogue, in the versions of the host. |
| ` + "`image_digests`" + ` | Manifest digests of these images, by name in the catalogue and architecture; empty for an image without an entry in the lock file. |
| ` + "`conformance_images`" + `, ` + "`conformance_missing`" + ` | Images of the pods of conformance tests that deployer imports on nodes, as in addon_images, and a text about those that could not be fetched; empty but in ` + "`deployer verify --conformance`" + `. |
| ` + "`addon_images`" + ` | Images of add-ons that deployer imports on nodes: a list of mappings with name and version in the catalogue. |
| ` + "`keeper_architectures`" + ` | Architectures whose keeper this deployer carries: amd64, arm64. |
| ` + "`leaving`" + ` | What scale-down takes out of the cluster, see below; lists are empty in other runs. |
| ` + "`maintenance_hooks`" + ` | The hooks of cluster.maintenance, with the keys of the inventory; texts are those of the host. |
| ` + "`removed_hooks`" + ` | Those of phase removed, with ` + "`host`" + ` and ` + "`address`" + ` of the host. |
| ` + "`facts`" + ` | Facts that the agent has gathered on the host, see below. |
| ` + "`run.id`" + ` | Id of the run. |
| ` + "`run.check`" + ` | True in a dry run. |
| ` + "`item`" + ` | In a task with a loop: the item. |
| ` + "`result`" + ` | In changed_when, failed_when and until: the task's result, with the keys of a registered result. |
| ` + "`failure`" + ` | In rescue: message, detail and step of the failure. |
| names of ` + "`register`" + ` | A task's result: changed, failed, skipped, message of a failure, and the output of the task. With a loop: results, a list of the items' results, and changed, failed and skipped for all items. |
| other names | Variables of the inventory, playbook, roles and tasks. |

A variable of a later entry overrides one of the same name in an earlier entry: defaults of a role; all, groups (parents
before children) and host of the inventory; play, role, blocks and task, inner over outer. The names cluster, host, hosts,
groups, facts, run, item, result and failure are reserved.
`

// Variables returns the page of variables. Variables reads the comments of the source tree at root.
func Variables(root string) (string, error) {
	cluster, err := readSource(filepath.Join(root, "cluster"))
	if err != nil {
		return "", err
	}
	vocabulary, err := readSource(filepath.Join(root, "engine"))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(generated("Variables", "the types of packages cluster and engine"))
	b.WriteString(variablesText)
	for _, s := range []struct {
		title string
		rows  []sourceRow
	}{
		{"cluster", cluster.rows("Cluster", "cluster.")},
		{"host", cluster.rows("Node", "host.")},
		{"leaving", cluster.rows("Departure", "leaving.")},
		{"facts", vocabulary.rows("Facts", "facts.")},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		writeRows(&b, s.rows)
	}
	return b.String(), nil
}
