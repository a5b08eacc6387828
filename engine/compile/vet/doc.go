// Package vet checks a compiled program against the hosts of its run, before any host is
// contacted. The package finds variables that no host has ([UndefinedNames]),
// also in the template files that tasks render, and variables that only Ansible has
// ([AnsibleName], [AnsibleNamesInTexts]). Package compile calls it at the end and adds
// the errors to its own. Nothing here changes a program.
package vet
