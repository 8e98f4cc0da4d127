package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterzone/clusterzone/sources"
)

const rootHelp = `clusterzone answers DNS queries for a Kubernetes cluster's own names.

It watches Ingresses, Services, the routes of Gateway API, RouteGroups,
DNSEndpoints, Nodes and Pods, builds the zones you name from them in memory, and
answers at once: a name resolves milliseconds after kubectl apply. Annotations
and flags of external-dns mean what they mean there.

Try it without a cluster, on a folder of manifests:

  clusterzone serve --zone corp.test --listen 127.0.0.1:5353 --manifests ./manifests
  dig @127.0.0.1 -p 5353 shop.corp.test

Every flag can also be set by an environment variable (--min-ttl is
CLUSTERZONE_MIN_TTL; lists hold one value a line) or by a key of the same name
in the YAML file that --config names. A flag wins over the environment, the
environment over the file.`

func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:           "clusterzone",
		Short:         "An authoritative DNS server for a Kubernetes cluster's own names",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("%q is no command; %s", args[0], sources.Suggest(args[0], commandNames))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(help)
	root.AddCommand(newServe(), newRecords(), newExplain(), newPlan(), newCheck(), newProbe(), newVersion())
	return root
}

var commandNames = []string{"serve", "records", "explain", "plan", "check", "probe", "version", "help"}

// flagError makes one helpful sentence of what pflag says.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !opposes(f) {
				names = append(names, "--"+f.Name)
			}
		})
		asked := "--" + strings.TrimLeft(unknown.GetSpecifiedName(), "-")
		return fmt.Errorf("%s is no flag of clusterzone %s; %s", asked, cmd.Name(), nearFlag(asked, names))
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return badValue(invalid.GetFlag(), invalid.GetValue(), invalid.Unwrap())
	}
	return fmt.Errorf("%w; clusterzone %s --help shows all flags", err, cmd.Name())
}

func nearFlag(asked string, names []string) string {
	if near := sources.Nearest(asked, names); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "--help shows all flags"
}
