package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

const eventsText = `
With ` + "`--output json`" + ` a run prints one event a line, as JSON. The same events feed the terminal. A field that is empty is
left out. New fields and types may be added: ignore what you do not know.

    deployer install --output json | jq -c 'select(.type == "step.end" and .result.status == "failed")'

Secrets of the inventory, and what secret steps have registered, are replaced in every text, in whatever encoding.
Steps marked secret carry neither diff, output nor command line, and of a failure only the module and the exit code.
`

func eventsPage(root string) (string, error) {
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
What the tasks, templates and conditions of a playbook see. In a text: ` + "`{{ cluster.dns.ip }}`" + `; in a condition:
` + "`host.is_master && len(groups.etcd) > 1`" + `. A name that does not exist is an error with file, line and column, not an empty
text. Lists are never null.

| Name | What it is |
|---|---|
| ` + "`cluster`" + ` | The resolved cluster, see below. |
| ` + "`host`" + ` | This host's part of it, see below. |
| ` + "`hosts`" + ` | Every host of the cluster by its name, each as ` + "`host`" + `. |
| ` + "`groups`" + ` | Lists of host names: every group of the inventory, the roles master, minion, etcd and proxy, and node and all. |
| ` + "`images`" + ` | Full references of container images by their name in the catalogue. |
| ` + "`image_digests`" + ` | Digests of the manifests of these images, by name in the catalogue and then by architecture; empty for an image that the lock file does not have. |
| ` + "`facts`" + ` | What the agent found on this host, see below. |
| ` + "`run.id`" + ` | Names the run. |
| ` + "`run.check`" + ` | True when the run only shows what would change. |
| ` + "`item`" + ` | In a task with a loop: the item. |
| ` + "`result`" + ` | In changed_when, failed_when and until: the task's result, with the keys that a registered one has. |
| ` + "`failure`" + ` | In rescue: message, detail and step of what failed. |
| names given with ` + "`register`" + ` | A task's result: changed, failed, skipped, message when it failed, and what the task puts out. With a loop: results, a list of these, and changed, failed and skipped for all. |
| other names | Variables of the inventory, playbook, roles and tasks. |

Of variables with one name the later in this list wins: a role's defaults; the inventory's all, groups (a parent before its
children) and host; the play, the role, blocks and the task, inner ones over outer ones. The engine's own names cannot be
taken: cluster, host, hosts, groups, facts, run, item, result, failure.
`

func variablesPage(root string) (string, error) {
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
		{"facts", vocabulary.rows("Facts", "facts.")},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		writeRows(&b, s.rows)
	}
	return b.String(), nil
}
