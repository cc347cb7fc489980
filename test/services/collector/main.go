// An OpenTelemetry Collector with the parts that tests need: the OTLP receiver, the memory limiter, which refuses, and the
// file exporter, which writes all that was received. `partial-success ADDRESS` is a server of its own: the collector's
// receiver takes a request whole or not at all.
package main

import (
	"fmt"
	"os"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// The release of the collector that go.mod names.
const version = "0.161.0"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	if len(words) == 2 && words[0] == "partial-success" {
		return servePartialSuccess(words[1])
	}
	return otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otel-collector", Version: version},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
				DefaultScheme:     "file",
			},
		},
	}).Execute()
}

func factories() (otelcol.Factories, error) {
	made := otelcol.Factories{Telemetry: otelconftelemetry.NewFactory()}
	var err error
	if made.Receivers, err = otelcol.MakeFactoryMap(otlpreceiver.NewFactory()); err != nil {
		return made, err
	}
	if made.Processors, err = otelcol.MakeFactoryMap(memorylimiterprocessor.NewFactory()); err != nil {
		return made, err
	}
	made.Exporters, err = otelcol.MakeFactoryMap(fileexporter.NewFactory())
	return made, err
}
