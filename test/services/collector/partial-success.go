package main

import (
	"io"
	"net/http"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
)

const jsonType = "application/json"

// servePartialSuccess takes logs with the collector's own reader, and says with its own writer that it refused those
// which have the attribute `refuse`.
func servePartialSuccess(address string) error {
	http.HandleFunc("POST /v1/logs", func(writer http.ResponseWriter, request *http.Request) {
		answer, err := answerTo(request)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", request.Header.Get("Content-Type"))
		_, _ = writer.Write(answer)
	})
	return http.ListenAndServe(address, nil)
}

func answerTo(request *http.Request) ([]byte, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	isJSON := request.Header.Get("Content-Type") == jsonType
	logs := plogotlp.NewExportRequest()
	if isJSON {
		err = logs.UnmarshalJSON(body)
	} else {
		err = logs.UnmarshalProto(body)
	}
	if err != nil {
		return nil, err
	}
	response := plogotlp.NewExportResponse()
	if refused := countRefused(logs.Logs()); refused > 0 {
		response.PartialSuccess().SetRejectedLogRecords(refused)
		response.PartialSuccess().SetErrorMessage("the attribute refuse is set")
	}
	if isJSON {
		return response.MarshalJSON()
	}
	return response.MarshalProto()
}

func countRefused(logs plog.Logs) int64 {
	var refused int64
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				if _, found := record.Attributes().Get("refuse"); found {
					refused++
				}
			}
		}
	}
	return refused
}
