// Package ansible serves users who come from Ansible or Kubespray; runs of deployer's
// own playbooks do not need it.
//
// Its packages:
//
//   - jinja parses expressions and templates of Jinja and prints them in the language
//     of playbooks or of template files;
//   - convert translates the files of a playbook or role, in a copy (`deployer convert`);
//   - importer reads an inventory and writes the one of deployer (`deployer inventory import`).
//
// This package itself holds the names of modules that differ. The compiler of
// playbooks (engine/compile) takes them as data, and translations from jinja, for
// the advice in its errors; nothing else of the engine knows Ansible.
package ansible
