package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/sources/manifest"
	"github.com/clusterzone/clusterzone/zones"
)

const checkHelp = `Validate flags, config file, zone files, certificates and objects, and exit.

It takes the flags of "clusterzone serve", reads the files that they name, and
opens no address and writes nothing: a config file can be checked on another
machine than that which it is for, where folders to write to may be missing.

Each finding is one line: a manifest or zone file that can't be read or is odd,
or something that an object asks for and can't get until its author mends it.
What filters leave out and what waits for an address is no finding;
"clusterzone explain" tells that.

The exit status is 0 without findings, 1 with, and 2 when a flag or the config
file can't be honoured.`

func newCheck() *cobra.Command {
	var settings objectSettings
	var serving serveSettings
	cmd := &cobra.Command{
		Use:   "check [flags]",
		Short: "Validate flags, config file and objects",
		Long:  checkHelp,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := resolve(cmd, os.LookupEnv); err != nil {
				return err
			}
			return check(cmd, &settings, &serving)
		},
	}
	serving.add(cmd)
	settings.add(cmd)
	return cmd
}

func check(cmd *cobra.Command, settings *objectSettings, serving *serveSettings) error {
	log, err := settings.general.logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := settings.prepare(quiet(log), os.LookupEnv); err != nil {
		return err
	}
	if err := serving.mirrors.prepare(quiet(log), slog.LevelWarn, settings); err != nil {
		return err
	}
	parts, err := serving.parse(quiet(log))
	if err != nil {
		return err
	}
	var found []string
	if parts.certificates != nil {
		found = parts.certificates.findings()
	}
	fault := func(err error) { found = append(found, err.Error()) }
	p, err := settings.assemble(quiet(log), pipelineOptions{listen: serving.listen, passing: &passWorld{parts.resolvers, parts.ours}, zoneFault: fault, onCommit: func(commit zones.Commit) {
		for _, skip := range commit.Skipped {
			if skip.Reason.Mendable() {
				found = append(found, skip.String())
			}
		}
	}})
	if err != nil {
		return err
	}
	if err := passOn(parts.dns, p.passes); err != nil {
		return err
	}
	if _, err := serving.mirrors.build(cmd.Context(), mirrorOptions{log: quiet(log), pipeline: p}); err != nil {
		return err
	}
	for _, finding := range p.files.Findings() {
		found = append(found, finding.Error())
	}
	unread, err := p.readAll(cmd)
	if err != nil {
		return err
	}
	found = append(found, unread...)
	for _, line := range found {
		fmt.Fprintln(cmd.OutOrStdout(), line)
	}
	if len(found) > 0 {
		return errFound
	}
	status := p.feed.Status()
	objects := 0
	for _, source := range status.Sources {
		objects += source.Objects
	}
	fmt.Fprintf(cmd.OutOrStdout(), "objects read: %d; findings: none\n", objects)
	return nil
}

// readAll reads the objects and returns what is wrong with files or with the
// reading of the cluster, a line each; an error where nothing can be read.
func (p *pipeline) readAll(cmd *cobra.Command) (found []string, err error) {
	paths := p.settings.origin.manifests
	if len(paths) == 0 {
		err := p.once(cmd.Context(), nil)
		if errors.As(err, new(failure)) {
			return []string{err.Error()}, nil
		}
		return nil, err
	}
	set, err := manifest.Load(paths, cmd.InOrStdin())
	for _, one := range split(err) {
		if !errors.As(one, new(manifest.Finding)) {
			return nil, one
		}
		found = append(found, one.Error())
	}
	for _, finding := range set.Findings() {
		found = append(found, finding.String())
	}
	set.Report(p.feed)
	p.feed.Apply()
	return found, nil
}

// split returns the errors that errors.Join joined.
func split(err error) []error {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
